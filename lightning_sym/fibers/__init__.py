"""Which weights have the same function."""
