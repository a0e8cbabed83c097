"""Gives variables new values: all of one is checked first, then written."""
