"""What kind of point of the neuromanifold some weights give."""
