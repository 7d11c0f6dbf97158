"""The variety M: its degree, its equations, its singular points."""
