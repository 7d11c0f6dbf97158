"""Closedness, boundary and singular points."""
