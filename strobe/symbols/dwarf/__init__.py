"""What debug information says of one module, as it stands there: entries, expressions, locations, lines."""
