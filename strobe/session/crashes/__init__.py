"""What is known of a program that has ended by a signal: where it was, and its stack."""
