"""What is known of the weights with the same function as given ones: conditions of theorems, and dimensions."""
