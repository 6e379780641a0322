"""Choosing another session: the list of sessions, what is found in them, and what is done to one of them."""
