"""The network of sandboxed commands: what they may reach, and the only code that opens connections for them."""
