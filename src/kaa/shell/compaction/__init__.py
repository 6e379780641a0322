"""Keeping a conversation within the window of its model: when, how, and who writes the summary."""
