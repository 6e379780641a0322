"""`python -m kaa`: the same as `kaa`, with the interpreter that one chooses."""

import sys

from kaa.cli import main

if __name__ == "__main__":
    sys.exit(main())
