"""Frames: which function and inlined calls an address belongs to, and where registers and variables are there."""
