"""The torture test: programs with known results, random actions on them over MCP, and what must hold all the time."""
