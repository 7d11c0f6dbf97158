"""All symmetries of whole models: what the theorems are about, their conditions at given weights, the groups."""
