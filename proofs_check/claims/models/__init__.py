"""Whole models: decoders with norms, MLPs, skip connections and positions."""
