"""The session file: pi's JSONL tree, written crash-safely, read back leniently."""
