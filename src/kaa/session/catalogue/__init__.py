"""What is known of all sessions without opening them: summaries, their text to search, what they used. Only a cache."""
