"""`kaa ext`: installs, lists, tests and scaffolds extensions, without a conversation."""
