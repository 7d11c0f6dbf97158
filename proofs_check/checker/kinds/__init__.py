"""Certificates by kind, for verify.py beside it, which has those of dimensions: a file each, found by its name."""
