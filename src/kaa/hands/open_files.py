"""How many files may be open: the hands need one for each mount and each level of a directory; commands get the usual.

Without room, what is in a repository could not be judged, and the walls of a folder with many could not be built.
"""

import resource

_MOST = 65536
_usual: list[int] = []  # for commands


def raise_limit() -> None:
    """Allow this process, and those that it forks, as many as the system does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        _usual[:] = [soft]


def restore_limit() -> None:
    """Allow this process, and what it executes, as many as before."""
    if _usual:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_usual[0], resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
