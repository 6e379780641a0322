"""What kaa knows of files that commands may not write, and that the user let it write."""

import asyncio

import pytest

from kaa.hands.checkpoints.states import digest_of
from kaa.workspace.checkpoints.contract import FileChange, FileState
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protected_files import PermittedWrites
from kaa.workspace.protocol import FileContent

PATH = "/project/.envrc"


def change(before: bytes | None, after: bytes) -> FileChange:
    old, new = (None if content is None else FileState("file", digest_of(content)) for content in (before, after))
    return FileChange(PATH, old, new)


class Project:
    """A project whose protected file a process in the background plants and removes.

    Args:
        contents: of the file after each inspection of the guard, None if there is none; the last one stays.
    """

    def __init__(self, *contents: bytes | None) -> None:
        self._contents = list(contents)
        self.writes = PermittedWrites(self._inspect)
        self._workspace = MemoryWorkspace()

    async def _inspect(self) -> None:
        content = self._contents.pop(0) if len(self._contents) > 1 else self._contents[0]
        self._workspace = MemoryWorkspace({} if content is None else {PATH: content})

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        return await self._workspace.read(path, offset, length)

    def write(self, content: bytes) -> None:
        async def noted() -> None:
            async with self.writes.noting(self, PATH, content, "model"):
                pass

        asyncio.run(noted())


@pytest.mark.parametrize("before", [None, b"mine"])
def test_what_was_there_before_a_write_can_be_restored(before: bytes | None) -> None:
    project = Project(before)

    project.write(b"new")

    assert project.writes.owner_of(PATH, change(before, b"new")) == "model"


@pytest.mark.parametrize("rest", [None, b"mine"])
def test_what_was_there_only_for_a_moment_cannot_be_restored(rest: bytes | None) -> None:
    """A process may plant the file right after the guard looked, and remove it before the write."""
    project = Project(b"planted", rest)

    project.write(b"new")

    assert project.writes.owner_of(PATH, change(b"planted", b"new")) is None
