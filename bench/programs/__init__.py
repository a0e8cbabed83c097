"""Real programs whose runs are measured, each in a file."""
