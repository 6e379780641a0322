"""The mounts that a process sees."""

import os

# How the kernel writes characters in mountinfo that separate fields; the backslash last, since all have it.
_ESCAPES = {rb"\040": b" ", rb"\011": b"\t", rb"\012": b"\n", rb"\043": b"#", rb"\134": b"\\"}


def mount_points() -> list[tuple[str, str]]:
    """Path and kind of file system of every mount.

    proc(5): `id parent device root mountpoint options [fields] - kind source ...`.

    Raises:
        OSError: there is no /proc.
    """
    points = []
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            before, _, after = line.partition(b" - ")
            path = before.split()[4]
            for written, meant in _ESCAPES.items():
                path = path.replace(written, meant)
            points.append((os.fsdecode(path), os.fsdecode(after.split(None, 1)[0])))
    return points
