"""Which MCP servers are configured, in kaa's files and in those of other agents."""
