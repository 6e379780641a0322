"""Conversations that other processes of the user attach to: listening, attaching, and processes without a terminal."""
