"""Which model answers a conversation: the way to it, switching, cycling, others that stand in."""
