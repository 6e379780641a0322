"""Tells which files of the user commands of the model cannot change."""

import functools
import os
import re
import time

from kaa.host.known_projects import in_known_project
from kaa.host.paths import is_below, trail
from kaa.host.programs import commands_can_write, host_programs
from kaa.host.python_environments import folders_of_environment
from kaa.host.shims import is_shim

_SHIM = re.compile(r"/(?:shims|\.volta/bin)(?:/|$)")  # of a version manager: it obeys files of the project
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")


def expanded(word: str) -> str:
    """Return a word with the home that it names."""
    return os.path.expanduser(_HOME.sub(os.path.expanduser("~").replace("\\", r"\\"), word))


def imports_from_projects(python: str, root: str) -> bool:
    """Whether a Python imports modules from what commands of the model can write, as editable installs have it do.

    Whenever it starts, it tries modules that nobody has: `sitecustomize`, and for `pathlib` in 3.11 `nt`.

    Args:
        python: its path, or its name.
        root: the directory of the project.
    """
    program = expanded(python) if "/" in python else host_programs().find(python)
    if program is None:
        return False  # nothing runs
    environments = {os.path.dirname(os.path.dirname(one)) for one in (program, *trail(program))}
    environments |= {os.path.expanduser("~/.local"), *(("/usr/local",) if "/usr" in environments else ())}
    now = int(time.monotonic())
    return any(not is_outside(folder, root) for environment in environments for folder in _imported(environment, now))


@functools.lru_cache(maxsize=16)
def _imported(environment: str, _second: int) -> tuple[str, ...]:
    return tuple(folders_of_environment(environment))


def is_outside(word: str, root: str) -> bool:
    """Whether a word is an absolute path that leads through nothing that commands of the model can write."""
    path = expanded(word)
    if not os.path.isabs(path) or path.startswith("/proc/") or not {".", ".."}.isdisjoint(path.split("/")):
        return False
    if path in ("/dev/null", "/dev/stderr", "/dev/stdout"):
        return True
    return not is_shim(path) and not any(
        _SHIM.search(one)
        or one.startswith("/proc/")  # an open file, such as behind /dev/fd/0, has whatever somebody writes to it
        or commands_can_write(one)
        or is_below(one, (root,))
        or in_known_project(one, os.environ, root) is not None
        for one in (path, *trail(path))
    )
