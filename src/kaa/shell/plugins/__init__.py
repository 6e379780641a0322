"""Plugins and marketplaces of other agents: which are installed, where they come from, and what conversations get."""
