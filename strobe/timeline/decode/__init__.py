"""What was recorded of arguments and results, as values that a user reads."""
