"""A client of language servers, which knows no conversation: `client.py` has the messages, `session.py` the documents.

Language Server Protocol 3.17: https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/
"""
