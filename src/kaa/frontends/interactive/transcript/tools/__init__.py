"""What a call of each tool shows.

`call.py` is what is known of a call, `renderer.py` what a renderer is, `by_name.py` which one a tool
has.
"""
