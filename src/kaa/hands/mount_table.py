"""The mounts that a process sees."""

import os
from collections.abc import Iterator
from typing import NamedTuple

# How the kernel writes characters in mountinfo that separate fields; the backslash last, since all have it.
_ESCAPES = {rb"\040": b" ", rb"\011": b"\t", rb"\012": b"\n", rb"\043": b"#", rb"\134": b"\\"}


class Mount(NamedTuple):
    """One mount.

    Attributes:
        device: major and minor number of the file system.
        root: the path in the file system that appears at the point.
    """

    point: str
    kind: str
    device: str
    root: str


def mounts() -> Iterator[Mount]:
    """Every mount; one that lies over another comes later.

    proc(5): `id parent device root mountpoint options [fields] - kind source ...`.

    Raises:
        OSError: there is no /proc.
    """
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            before, _, after = line.partition(b" - ")
            device, root, point = before.split()[2:5]
            yield Mount(_unescaped(point), os.fsdecode(after.split(None, 1)[0]), os.fsdecode(device), _unescaped(root))


def mount_points() -> list[tuple[str, str]]:
    """Path and kind of file system of every mount.

    Raises:
        OSError: there is no /proc.
    """
    return [(mount.point, mount.kind) for mount in mounts()]


def _unescaped(path: bytes) -> str:
    for written, meant in _ESCAPES.items():
        path = path.replace(written, meant)
    return os.fsdecode(path)
