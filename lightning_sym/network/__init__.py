"""What a network is: its shape, its weights, the one forward pass, and what is derived from it."""
