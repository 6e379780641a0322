"""A session for reading elsewhere: as a page that shows all of it, as text, as lines for another program."""
