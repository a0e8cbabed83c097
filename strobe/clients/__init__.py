"""Coding agents that Strobe is made known to: where each keeps its MCP servers, and how that is changed."""
