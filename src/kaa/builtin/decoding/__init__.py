"""Decodes images in a process of its own that can do nothing else.

`decoder` is the brain's side. `__main__` is the process: it loads Pillow, gives up every right it has and then reads
the image. `pictures` is the work itself.
"""
