"""`kaa mcp`: MCP servers on the command line."""
