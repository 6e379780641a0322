"""The conversation as blocks of a document: what was said, done and noticed.

`transcript.py` turns events and stored messages into blocks; `piece.py` is what most blocks are made on, `card.py` how
a call looks. What a tool's call shows is its renderer's, in `tools/`. Import each module by itself: `header.py` is
needed before the heavy ones.
"""
