"""What tools answer with, as JSON; a tool itself is a file in strobe/mcp/tools."""
