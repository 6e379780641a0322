"""Approvals: which calls of tools need a yes, who is asked for it, and what is remembered of the answers."""
