"""Shared settings: no deadlines, because nothing here is timed; the same examples on every run."""

from hypothesis import settings

settings.register_profile("exact", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("exact")
