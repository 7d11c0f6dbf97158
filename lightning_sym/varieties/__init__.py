"""The variety M, the closure of the set of functions: its equations, degree, points and tangent spaces."""
