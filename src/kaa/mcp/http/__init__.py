"""Servers at an address: streamable HTTP of all revisions, and HTTP with SSE of the oldest.

`streamable.StreamableHttpConnection` is what a configured address gets; it turns to `sse.SseConnection` if the server
is old.
"""
