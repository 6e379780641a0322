"""Executes a program that sees directories as empty: `python -I -S hiding.py COUNT DIRECTORY … PROGRAM ARGUMENT …`.

The program has all other rights of the user. What is hidden can be named in any way, and links can lead to it.
"""

import os
import os.path
import sys
from collections.abc import Sequence

_PARENT_OF_KAA = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_FAILED = 126  # a shell's exit code for a program that cannot be executed


def execute(directories: Sequence[str], argv: Sequence[str]) -> None:
    """Hide directories from this process, which must have one thread only, and execute a program in its place.

    Raises:
        OSError: the kernel refused.
        ConfinementError: likewise.
    """
    from kaa.hands.confinement import mounts, namespaces  # only found once the path is set

    cwd = os.getcwd()
    namespaces.enter((), network=False)
    mounts.make_private()
    for directory in directories:
        if os.path.lexists(directory):
            mounts.tmpfs(directory, 0o555)
            mounts.make_read_only(directory)
    os.chdir(cwd)  # it may be hidden now
    os.execv(argv[0], list(argv))  # noqa: S606 - the program that was asked for


if __name__ == "__main__":
    sys.path.append(_PARENT_OF_KAA)
    from kaa.hands.confinement.contract import ConfinementError  # only found once the path is set

    first = 2 + int(sys.argv[1])
    try:
        execute(sys.argv[2:first], sys.argv[first:])
    except (OSError, ConfinementError) as error:
        sys.stderr.write(f"this machine cannot hide from it what commands can write ({error})\n")
        sys.exit(_FAILED)
