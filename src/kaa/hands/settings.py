"""What the brain tells the hands once, before anything else."""

import errno
import os
from typing import NamedTuple

from kaa.hands.wire import Header, pairs, text


class HandsSettings(NamedTuple):
    """The same for every slot.

    Attributes:
        root: absolute path that relative paths start from.
        home: what `~` stands for; the hands' own environment is empty.
        mounts: what the wrapper that starts the hands must have mounted.
    """

    root: str
    home: str
    mounts: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, header: Header) -> "HandsSettings":
        """Take the settings from the first frame."""
        return cls(
            text(header, "root"), text(header, "home"), tuple(pairs(header, "mounts")) if "mounts" in header else ()
        )

    def absolute(self, path: str) -> str:
        """The absolute path meant by `path`; symlinks and `..` are left to the kernel.

        Raises:
            OSError: the path cannot exist.
        """
        if not path:
            raise FileNotFoundError(errno.ENOENT, "The path is empty")
        if "\0" in path:
            raise OSError(errno.EINVAL, "The path has a null character")
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        parts = os.path.join(self.root, path).split("/")
        return "/" + "/".join(part for part in parts if part not in ("", "."))
