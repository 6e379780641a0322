"""The life of a conversation without any user interface."""
