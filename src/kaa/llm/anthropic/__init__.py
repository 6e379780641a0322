"""Anthropic's Messages."""
