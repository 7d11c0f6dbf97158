"""Directions in weight space that the function does not feel."""
