"""`kaa demo`: kaa repairs a bug in a small project, for real, with a model whose replies were recorded.

Files, commands, tools, the loop and the wire adapter all run; only the network is played from a cassette, which
was recorded from a run of kaa with a real model (docs/demo.md).
"""

import sys
from collections.abc import Sequence

_USAGE = "usage: kaa demo\n\nWatch kaa fix a failing test in a small project. Needs no key and no network.\n"


def main(arguments: Sequence[str]) -> int:
    """Run the demo. Returns the exit code: 0 if the project's tests pass at the end."""
    if arguments:
        help_wanted = arguments[0] in ("-h", "--help")
        (sys.stdout if help_wanted else sys.stderr).write(_USAGE)
        return 0 if help_wanted else 2
    from kaa.demo.performance import perform  # lazy: `kaa demo --help` needs none of it

    return perform()
