"""Exact linear algebra and ideals; together with `rings` the only rooms that know flint."""
