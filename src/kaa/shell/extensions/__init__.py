"""Extensions that the user installed: where they come from, what is pinned, enabled and permitted."""
