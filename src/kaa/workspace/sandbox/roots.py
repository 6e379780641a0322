"""The directories that sandboxes of this process work in stay the ones that they were when the user named them.

Whoever may write above one, such as a command of another conversation, can put a link or another directory in its
place. The path then leads elsewhere, and hands that are made later must not follow it.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from kaa.workspace.protocol import WorkspaceUnavailableError

Identity: TypeAlias = tuple[int, int] | None
"""Device and inode of a directory; None if there was none."""


class RootReplacedError(WorkspaceUnavailableError):
    """Something else is now where a directory to work in was; the message says what to do."""


class _Known(NamedTuple):
    identity: Identity
    holders: int


_known: dict[str, _Known] = {}  # a fact of the process: agents and programs work in the same directories


class SandboxRoots:
    """The directories of one sandbox. What another one of this process knows of one holds for this one, too."""

    def __init__(self) -> None:
        self._own: dict[str, None] = {}

    def add(self, paths: Iterable[str]) -> None:
        """Take directories as they are now, unless they are known already.

        Args:
            paths: absolute and real.

        Raises:
            RootReplacedError: one is not what it was.
        """
        for path in paths:
            if path not in self._own:
                _take(path, identity(path))
                self._own[path] = None
            check(path)

    def check(self) -> None:
        """Check that all are still what they were.

        Raises:
            RootReplacedError: one is not.
        """
        for path in self._own:
            check(path)

    def close(self) -> None:
        for path in self._own:
            _release(path)
        self._own.clear()


@contextmanager
def holding(known: Mapping[str, Identity]) -> Iterator[None]:
    """Have sandboxes that are made meanwhile take directories for what they were before.

    Args:
        known: what they were, by absolute and real paths.
    """
    for path, found in known.items():
        _take(path, found)
    try:
        yield
    finally:
        for path in known:
            _release(path)


def real_root(path: str) -> str:
    """Return the real path of a directory to work in.

    Raises:
        RootReplacedError: a sandbox of this process works in this path, and something else is there now.
    """
    if path in _known:
        check(path)
        return path
    return os.path.realpath(path)


def check(path: str) -> None:
    """Check that a directory is what it was when it became known; one that is gone is nothing else.

    Args:
        path: absolute.

    Raises:
        RootReplacedError: a link, or another directory, is in its place.
    """
    known = _known.get(path)
    if known is None:
        return
    now = identity(path)
    if os.path.realpath(path) == path and (now is None or known.identity in (None, now)):
        return
    what = "a link leads from there to somewhere else" if os.path.realpath(path) != path else "it was replaced"
    raise RootReplacedError(
        f"{path} is not the directory any more that kaa was given: {what}. kaa does not follow it. Look at it, put the"
        " directory back if you did not replace it, or start kaa again (kaa -c resumes the conversation)."
    )


def identity(path: str) -> Identity:
    """What tells a directory from another one in its place."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _take(path: str, found: Identity) -> None:
    known = _known.get(path, _Known(found, 0))
    _known[path] = known._replace(holders=known.holders + 1)


def _release(path: str) -> None:
    known = _known.pop(path, None)
    if known is not None and known.holders > 1:
        _known[path] = known._replace(holders=known.holders - 1)
