"""How singular a network is at given weights: learning coefficients, exactly or between two bounds."""
