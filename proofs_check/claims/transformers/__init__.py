"""Heads, skip connections, embeddings."""
