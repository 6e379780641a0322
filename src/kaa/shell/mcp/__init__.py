"""MCP servers that the user configured: their files, approvals, lives and manifests."""
