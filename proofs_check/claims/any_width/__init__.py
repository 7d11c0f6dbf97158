"""Every width at once."""
