"""What a call of each tool shows.

`renderer.py` is what is known of a call and what a renderer is, `by_name.py` which one a tool has.
"""
