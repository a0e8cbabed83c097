"""Values of the running program: expressions, where they lie, how they are read, and what they are."""
