"""Extensions in any language: a process of its own that speaks Piglet's protocol."""
