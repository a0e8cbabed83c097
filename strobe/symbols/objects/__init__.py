"""Files of code: their formats, sections and symbol tables, and where their debug information lies."""
