"""Which mounts bubblewrap must make for a view, and whether it did.

It is given names and follows links in them, also to where it mounts. Commands of another sandbox could put a link in
the place of a directory after the view was planned, and so have a secret shown, or its mask put elsewhere.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence

from kaa.hands.confinement.contract import ViewChangedError
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.confinement.view import DEVICES, ViewStep
from kaa.hands.mount_table import Mount

_NEW = frozenset({"carved", "empty", "temporary", "shared memory", "hidden directory"})  # empty file systems
_BOUND = frozenset({"writable", "readable", "protected", "copy", "temporary"})
# What bubblewrap itself mounts for `--dev` and `--proc`.
_MACHINE = ("/dev", "/proc")
_OF_MACHINE = frozenset({"devtmpfs", "devpts", "mqueue", "proc"})
_OURS = frozenset({"temporary", "copy"})  # in kaa's cache, which the user may have put behind a symlink
_EMPTY = "new"

Expected = tuple[str, str]
"""Where a mount must be, and what must appear there: a device and a path in it, or `new`."""


def expected(steps: Sequence[ViewStep], buried: Sequence[str], host: Sequence[Mount]) -> list[Expected]:
    """What the mounts of a view must be, besides those of the host that are seen through it.

    Args:
        buried: directories that are mounted over themselves before, below other mounts.
    """
    devices = [f"/dev/{name}" for name in DEVICES]
    found = [(path, _place_of(path, host)) for path in (*buried, *devices)]
    for step in steps:
        if step.kind in _BOUND and step.source:
            source = os.path.realpath(step.source) if step.kind in _OURS else step.source
            found.append((step.target, _place_of(source, host)))
        elif step.kind in _NEW:
            found.append((step.target, _EMPTY))
        elif step.kind == "hidden file":
            found.append((step.target, _place_of("/dev/null", host)))
    through = (mount for mount in host for root in ("/", *buried, *_roots(steps)) if is_below_any(mount.point, [root]))
    return [*found, *((mount.point, f"{mount.device} {mount.root}") for mount in through)]


def check(wanted: Iterable[Expected], made: Iterable[Mount]) -> None:
    """Compare the mounts that were made with what they must be.

    Args:
        wanted: what `expected` gave.

    Raises:
        ViewChangedError: one is another one, or elsewhere.
    """
    allowed = Counter(wanted)
    for mount in made:
        known = (mount.point, f"{mount.device} {mount.root}")
        if not allowed[known]:
            known = (mount.point, _EMPTY if mount.kind == "tmpfs" and mount.root == "/" else "")
        if allowed[known]:
            allowed[known] -= 1
        elif not is_below_any(mount.point, _MACHINE) or not (known[1] or mount.kind in _OF_MACHINE):
            raise ViewChangedError(f"a directory above {mount.point} was replaced by a symlink meanwhile")


def _roots(steps: Iterable[ViewStep]) -> list[str]:
    """Directories that are mounted over themselves, with what is mounted in them."""
    return [step.target for step in steps if step.kind in _BOUND and step.source == step.target]


def _place_of(path: str, host: Sequence[Mount]) -> str:
    """The device and the path in it by which the mount of a path of the host is known."""
    above = [mount for mount in host if is_below_any(path, [mount.point])]
    nearest = max(range(len(above)), key=lambda number: (len(above[number].point), number))
    mount = above[nearest]
    return f"{mount.device} {(mount.root.rstrip('/') + path[len(mount.point.rstrip('/')) :]) or '/'}"
