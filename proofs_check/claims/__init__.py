"""The statements, chapter by chapter: one module a claim."""
