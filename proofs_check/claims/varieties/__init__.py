"""Claims about the variety itself, and about what gradients do on it."""
