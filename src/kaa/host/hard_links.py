"""Tells which files have another name (hard links), by which commands of the model may have written them.

Nothing says where the other name is. A file of the user's with two names counts like one in a project, wherever it is.
"""

import os
import stat

from kaa.host.paths import is_below

# Installed by the system, or kept by Nix, which replaces equal files by hard links.
_OF_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/nix",
    "/gnu",
    "/snap",
    "/opt/homebrew",
    "/System",
    "/Library",
)


def has_other_name(path: str) -> bool:
    """Whether a path leads to a file that commands may have written by another name of it.

    Not one that the user could not write in place, either, and none that a package manager linked from its own store
    into an environment: uv, conda and pnpm do that with all files.

    Args:
        path: absolute; symlinks are followed.
    """
    try:
        state = os.stat(path)
    except OSError:  # nothing is there
        return False
    if state.st_nlink < 2 or not stat.S_ISREG(state.st_mode):
        return False
    real = os.path.realpath(path)
    is_own = state.st_uid == os.geteuid() or os.access(real, os.W_OK)
    return is_own and not is_below(real, _OF_SYSTEM) and not _is_installed(real)


def how_to_part(path: str) -> str:
    """Say how the user makes a file one of its own, as an independent clause."""
    import shlex  # lazy: few users have such files

    name = shlex.quote(path)
    return f"`cp -p {name} {name}.new && mv {name}.new {name}` makes it a separate file"


def _is_installed(path: str) -> bool:
    from kaa.host.python_environments import is_environment  # lazy: few files get here

    if "/node_modules/" in path:
        return True
    while (above := os.path.dirname(path)) != path:
        path = above
        if is_environment(path):
            return True
    return False
