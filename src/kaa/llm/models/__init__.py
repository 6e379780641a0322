"""Which models there are, which one is meant, and how it is reached."""
