"""A session on the disk: bytes that survive kills, and entries read from whatever lines are there."""
