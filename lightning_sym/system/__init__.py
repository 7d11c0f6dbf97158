"""What is written and read between the layers of networks, over any field; two networks are their direct sum."""
