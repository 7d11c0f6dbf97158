"""Asking a state of the project everything: what is asked, how it is answered, and how answers differ."""
