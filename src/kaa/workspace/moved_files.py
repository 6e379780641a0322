"""What is done about files that the guard moved away."""

from typing import Protocol, runtime_checkable

from kaa.workspace.protocol import Expected, FileDigest


@runtime_checkable
class MovedFiles(Protocol):
    """Deals with files that the guard moved away, outside the sandbox. No part of `Workspace`: few have use for it."""

    async def put_back(self, path: str, data: bytes, expected: Expected, mode: int) -> None:
        """Write a file that is the user's own: no checkpoint counts it as a change of the model's.

        Args:
            path: absolute, without links.
            expected: what must be there before.

        Raises:
            ContentChangedError: the file is not as expected.
            OSError: it cannot be written.
        """

    async def discard(self, copy: str, expected: FileDigest, top: str) -> None:
        """Remove what the guard keeps under another name, and the directories around it that are empty then.

        Args:
            copy: absolute path of a file, without links.
            expected: what must be there.
            top: the outermost directory that may go; the file itself if none may.

        Raises:
            ContentChangedError: the file is not as expected.
            OSError: it cannot be removed.
        """
