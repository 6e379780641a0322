"""Which links lead from one to what is behind it: whoever can write where one of them is can exchange it."""

import os
from collections.abc import Sequence

_MAX_LINKS = 40  # on one way, as in the kernel


def behind_link(link: str) -> Sequence[str]:
    """The paths of all links behind one, each without links above it, and of what is at the end; nothing in a circle.

    A command can exchange each of them.
    """
    at, remaining, found, links = os.path.realpath(os.path.dirname(link)), [os.path.basename(link)], list[str](), 0
    while remaining:
        name = remaining.pop()
        if name in ("", "."):
            continue
        if name == "..":
            at = os.path.dirname(at)
            continue
        path = os.path.join(at, name)
        try:
            target = os.readlink(path)
        except OSError:  # no link, or nothing is there
            at = path
            continue
        links += 1
        if links > _MAX_LINKS:
            return ()
        if links > 1:
            found.append(path)
        if target.startswith("/"):
            at = "/"
        remaining.extend(reversed(target.split("/")))
    return [*found, at]
