"""`kaa mcp`: the MCP servers that kaa uses, and kaa as one."""
