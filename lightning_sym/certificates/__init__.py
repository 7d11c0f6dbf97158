"""What proves an answer, as a document that the checker reads."""
