"""How commands print: tables, trees, colours, JSON, progress."""
