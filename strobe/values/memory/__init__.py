"""The memory of a process: read by recipes, many places at once."""
