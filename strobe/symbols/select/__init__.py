"""From a user's patterns to the functions that are traced, and what to say of the others."""
