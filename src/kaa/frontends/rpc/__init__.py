"""rpc mode: another program drives kaa with JSON lines, in the protocol of pi 1.5 (`docs/rpc.md`)."""
