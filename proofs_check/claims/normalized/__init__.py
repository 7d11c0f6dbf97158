"""Softmax and other normalizations."""
