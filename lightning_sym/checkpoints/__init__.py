"""Real weight files: one file a model family, symmetries of whole transformers, nearness with bounds."""
