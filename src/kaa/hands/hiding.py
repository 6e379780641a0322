"""Executes a program that sees directories as empty: `python -I -S hiding.py COUNT DIRECTORY … PROGRAM ARGUMENT …`.

The program has all other rights of the user. What is hidden can be named in any way, and links can lead to it. Where
the kernel permits no namespaces, as in most containers, it finds files there that it may neither read nor execute.
"""

import os
import os.path
import sys
from collections.abc import Sequence

_PARENT_OF_KAA = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_FAILED, _NOT_FOUND = 126, 127  # a shell's exit codes for a program that it cannot execute, or does not find


def hide(directories: Sequence[str]) -> None:
    """Hide directories from this process, which must have one thread only, and from what it executes.

    Raises:
        OSError: the kernel refused.
        ConfinementError: likewise.
    """
    cwd = os.getcwd()
    there = [directory for directory in directories if os.path.lexists(directory)]
    if _can_mount(there):
        _mount_over(there)
        os.chdir(cwd)  # it may be hidden now
    else:
        _close(there)


def _can_mount(directories: Sequence[str]) -> bool:
    """Whether this process could mount something over directories. A child tries: there is no way back."""
    child = os.fork()
    if child == 0:
        try:
            _mount_over(directories)
        except BaseException:  # noqa: BLE001 - the parent goes on, whatever it was
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _mount_over(directories: Sequence[str]) -> None:
    from kaa.hands.confinement import mounts, namespaces  # only found once the path is set

    namespaces.enter((), network=False)
    mounts.make_private()
    for directory in directories:
        mounts.tmpfs(directory, 0o555)
        mounts.make_read_only(directory)


def _close(directories: Sequence[str]) -> None:
    """Forbid this process to read and execute files in directories.

    Landlock can only allow, and what it allows holds for everything below: so each neighbour of the way to a directory
    is allowed. What appears beside the way later can be written and not read.
    """
    from kaa.hands.confinement import kernel, landlock  # likewise
    from kaa.hands.confinement.contract import ConfinementError

    if (version := landlock.abi()) < 1:
        raise ConfinementError("the kernel permits no namespaces and has no Landlock")
    read = landlock.READ_FILE | landlock.EXECUTE
    rules = landlock.Ruleset(version, network=True, scopes=0, handled=read | landlock.REFER)
    rules.allow("/", landlock.REFER)
    way = {above for directory in directories for above in _above(directory)}
    for folder in way:
        try:
            names = os.listdir(folder)
        except OSError:  # nothing there can be read, either
            continue
        paths = {os.path.join(folder, name) for name in names} - way - set(directories)
        for path in paths:
            if not os.path.islink(path):
                rules.allow(path, read)
    kernel.forbid_new_privileges()
    rules.impose()


def _above(path: str) -> list[str]:
    found = []
    while path != "/":
        path = os.path.dirname(path)
        found.append(path)
    return found


if __name__ == "__main__":
    sys.path.append(_PARENT_OF_KAA)
    from kaa.hands.confinement.contract import ConfinementError  # only found once the path is set

    first = 2 + int(sys.argv[1])
    program = sys.argv[first:]
    try:
        hide(sys.argv[2:first])
    except (OSError, ConfinementError) as error:
        sys.stderr.write(f"this machine cannot hide from it what commands can write ({error})\n")
        sys.exit(_FAILED)
    try:
        os.execvp(program[0], program)  # noqa: S606 - the program that was asked for
    except OSError as error:
        sys.stderr.write(f"{program[0]}: {error.strerror}\n")
        sys.exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _FAILED)
