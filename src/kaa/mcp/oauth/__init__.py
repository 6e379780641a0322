"""OAuth 2.1 as MCP servers demand it (specification, Authorization)."""
