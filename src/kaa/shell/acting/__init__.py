"""Carries out what extensions do with a conversation: messages, entries, stores, calls of a model."""
