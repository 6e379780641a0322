"""OpenAI's Chat Completions and everything that imitates them."""
