"""Going elsewhere in the session: the tree, the list of messages to go back to, and what to take along."""
