"""Model servers on the user's own machine: where they listen, which they are, and what they know of their models."""
