"""Which links lead from one to what is behind it: whoever can write where one of them is can exchange it."""

import os
from collections.abc import Iterable, Sequence

from kaa.hands.below import is_below

_MAX_LINKS = 40  # on one way, as in the kernel


def behind_link(link: str) -> Sequence[str]:
    """The paths of all links behind one, each without links above it, and of what is at the end; nothing in a circle.

    A command can exchange each of them.
    """
    way = _way(os.path.realpath(os.path.dirname(link)), os.path.basename(link))
    return way[1:] if len(way) > 1 else way


def links_on_way(path: str) -> Sequence[str]:
    """The paths of all links on the way to an absolute path, and of what is at the end, as `behind_link` gives them."""
    return _way("/", path)


def leads_out(path: str, real: str, untrusted: Iterable[str]) -> bool:
    """Return True if a path leads out of a directory by a link in it, or does not lead where it did.

    Args:
        path: absolute.
        real: where it led.
        untrusted: real paths of directories in which commands may have made links.
    """
    *links, end = links_on_way(path) or ("",)
    inside = ((link, root) for link in links for root in untrusted if is_below(os.path.dirname(link), root))
    return end != real or any(not is_below(end, root) for _, root in inside)


def _way(at: str, path: str) -> Sequence[str]:
    remaining, found = path.split("/")[::-1], list[str]()
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
        found.append(path)
        if len(found) > _MAX_LINKS:
            return ()
        if target.startswith("/"):
            at = "/"
        remaining.extend(reversed(target.split("/")))
    return [*found, at]
