"""Several layers."""
