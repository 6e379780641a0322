"""Lists to choose from, in the editor's place. `lists.py` opens them, the others know what is chosen."""
