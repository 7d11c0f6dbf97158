"""The variety M: its degree, its equations, its singular points, and what gradients keep on it."""
