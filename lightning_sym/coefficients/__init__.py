"""How singular the loss is at given weights: learning coefficients, exact or between two bounds."""
