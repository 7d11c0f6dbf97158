"""What `lightning-sym figure` draws: one file a picture."""
