"""`kaa plugin`: marketplaces, and the plugins of other agents, without a conversation."""
