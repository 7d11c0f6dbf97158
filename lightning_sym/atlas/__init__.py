"""Many networks: families of architectures, their certified dimensions in a file, formulas that are put to the test."""
