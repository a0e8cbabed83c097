"""Probes: a place in the program, a condition, and what is recorded where it holds."""
