"""The dimension of the neuromanifold, by bounds that meet."""
