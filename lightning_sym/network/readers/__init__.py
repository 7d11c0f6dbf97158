"""Files of weights as they come from outside: one file a format, each bounded before anything is expanded.

A reader gives the matrices by name and the form of the network as a plain JSON value, `None` where the file has none.
"""
