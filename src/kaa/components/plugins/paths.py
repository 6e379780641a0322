"""Paths in files of strangers: relative to a root, and never out of it."""

from kaa.components.plugins.json_fields import line_of

_MAX_CHARACTERS = 1024
_ROOTS = ("${CLAUDE_PLUGIN_ROOT}", "${PLUGIN_ROOT}", "${extensionPath}")


def inside(path: str) -> str | None:
    """A path relative to the root, without `.` as a part; empty for the root itself. None if it leaves the root.

    It may begin with a placeholder for the root. What the path is on the disk, such as a link, is not looked at.
    """
    for root in _ROOTS:
        if path == root or path.startswith(f"{root}/"):
            path = "." + path.removeprefix(root)
    if not path or len(path) > _MAX_CHARACTERS or line_of(path) != path:
        return None
    if path.startswith(("/", "~")) or "\\" in path or path[1:2] == ":":
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
