"""MCP servers as an extension: their tools, prompts and resources, by nothing but `kaa.ext` and `host.McpHost`."""
