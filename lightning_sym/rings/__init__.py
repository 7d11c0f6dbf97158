"""The rings the forward pass runs over, one file each."""
