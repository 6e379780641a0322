"""Start of the fork-server: `python -I -S __main__.py` with the control socket as standard input.

Without `-S` and `-I` the project's own modules could be imported here; with them, we have to say where kaa is.
"""

import gc
import os.path
import sys

_PARENT_OF_KAA = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

if __name__ == "__main__":
    sys.path.append(_PARENT_OF_KAA)
    gc.disable()  # loading code makes many objects and no garbage
    from kaa.hands.connection import notice_compiling  # only found once the path is set

    notice_compiling()
    from kaa.hands.server import main

    gc.freeze()
    gc.enable()
    sys.path.remove(_PARENT_OF_KAA)
    main()
