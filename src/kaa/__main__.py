"""`python -m kaa`: the same as `kaa`, with the interpreter that one chooses."""

import os
import sys

try:
    _here = os.getcwd()
except FileNotFoundError:  # it was removed: kaa says so itself
    _here = ""
if sys.path[:1] == [_here]:  # `-m` puts it there: files of a project must not pass for modules
    del sys.path[0]
if not sys.flags.ignore_environment:  # the command `kaa` ignores PYTHONPATH; what is not loaded yet, this does too
    _kaa_is_in = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    _named = {os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)} - {_kaa_is_in}
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) not in _named]

from kaa.cli import main

if __name__ == "__main__":
    sys.exit(main())
