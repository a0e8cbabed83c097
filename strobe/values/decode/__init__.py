"""From bytes to values: what of a type is read, and how that is put together."""
