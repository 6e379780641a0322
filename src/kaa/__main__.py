"""`python -m kaa`: the same as `kaa`, with the interpreter that one chooses."""

import os
import sys

try:
    _here = os.getcwd()
except FileNotFoundError:  # it was removed: kaa says so itself
    _here = ""
if sys.path[:1] == [_here]:  # `-m` puts it there: files of a project must not pass for modules
    del sys.path[0]

from kaa.cli import main

if __name__ == "__main__":
    sys.exit(main())
