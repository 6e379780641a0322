"""Runs pip, but lets it start no program: a script of its own process, which knows nothing of kaa.

`--only-binary :all:` keeps pip from building what an index offers. A wheel can also require an archive or a repository
by its address, and to learn what that requires in turn pip would execute its build program.
"""

import os
import runpy
import sys

_STARTING = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork"})
# pip asks it for the password of an index if the user configured that.
_PERMITTED = frozenset({"keyring"})


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event not in _STARTING:
        return
    program = os.path.basename(str(arguments[0])) if arguments else event
    if event == "os.fork" or program not in _PERMITTED:
        raise OSError(f"kaa does not let pip start {program}: wheels only")


def main() -> None:
    """Run pip.

    The arguments: where pip is, empty if Python finds it; then the arguments of pip.
    """
    place = sys.argv[1]
    if place:
        sys.path.append(place)
    sys.argv = ["pip", *sys.argv[2:]]
    sys.addaudithook(_watch)
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


main()
