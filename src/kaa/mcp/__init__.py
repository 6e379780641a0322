"""A client for the Model Context Protocol (https://modelcontextprotocol.io/specification).

It speaks the revisions 2024-11-05 to 2025-11-25, which begin with `initialize`, and 2026-07-28, which has no sessions.
It knows no conversation and no person: who uses it answers the servers' questions through `questions.ServerQuestions`.
"""
