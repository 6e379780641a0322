"""What is put in front of things that nobody may read."""

import os

from kaa.hands.confinement import mounts


class Masks:
    """Mounts masks on paths of the calling process's mount namespace, once that is frozen.

    A file gets a device on a mount without devices: opening it fails with EACCES for everybody, root too. A directory
    gets `unreachable`, on which nobody has rights; without one it gets an empty one without rights, which stop
    everybody but root from even looking.

    Args:
        unreachable: path of a directory that belongs to nobody in the user namespace.
    """

    def __init__(self, unreachable: str | None) -> None:
        self._device = _handle("/dev/null")
        self._unreachable = None if unreachable is None else _handle(unreachable)

    def hide_file(self, path: str) -> None:
        """Put a mask on a file."""
        mounts.bind(self._device, path)

    def hide_directory(self, path: str, has_more: bool = False) -> None:
        """Put a mask on a directory.

        Args:
            has_more: whether something is to be mounted below. Then the caller makes it read-only in the end.
        """
        if has_more:
            mounts.tmpfs(path, 0o111)  # can be passed through but not listed
        elif self._unreachable is not None:
            mounts.bind(self._unreachable, path)
        else:
            mounts.tmpfs(path, 0)
            mounts.make_read_only(path)

    def let_go_of_unreachable(self) -> None:
        """Before it is removed: no more can be mounted then, but what is mounted stays."""
        if self._unreachable is not None:
            os.close(self._unreachable)
            self._unreachable = None


def _handle(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
