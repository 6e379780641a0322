"""The agent loop and the contracts around it. Knows no files, terminals or vendors; imports nothing else of kaa."""
