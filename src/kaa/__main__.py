"""`python -m kaa`: the same as `kaa`, with the interpreter that one chooses."""

import os
import sys

if sys.path[:1] == [os.getcwd()]:  # `-m` puts it there: files of a project must not pass for modules
    del sys.path[0]

from kaa.cli import main

if __name__ == "__main__":
    sys.exit(main())
