"""Keeping keys and logging in, from within the interactive terminal."""
