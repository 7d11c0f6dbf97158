"""How singular models are: learning coefficients."""
