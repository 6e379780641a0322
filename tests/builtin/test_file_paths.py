"""Failures of the operating system become sentences that say what to do."""

import errno
import os
from collections.abc import Sequence

from kaa.core.messages import Json
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import (
    CommandRequest,
    CommandResult,
    DirEntry,
    Expected,
    FileContent,
    FileInfo,
    FindResult,
    LineSlice,
    OnOutput,
    SearchQuery,
    SearchResult,
    WorkspaceUnavailableError,
)
from tests.support.agents import run
from tests.support.tables import each
from tests.support.toolbox import Toolbox

EDITS = [{"oldText": "x", "newText": "y"}]
CALLS: Sequence[tuple[str, dict[str, Json]]] = [
    ("read", {"path": "a"}),
    ("write", {"path": "a", "content": "x"}),
    ("edit", {"path": "a", "edits": EDITS}),
    ("grep", {"pattern": "x", "path": "a"}),
    ("find", {"pattern": "x", "path": "a"}),
    ("ls", {"path": "a"}),
]


class FailingWorkspace(MemoryWorkspace):
    """Everything fails the same way, looking at a path too if `blind`."""

    def __init__(self, error: OSError, *, blind: bool) -> None:
        super().__init__({"a": b"x"})
        self._error = error
        self._blind = blind

    async def stat(self, path: str) -> FileInfo | None:
        if self._blind:
            raise self._error
        return await super().stat(path)

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        raise self._error

    async def read_lines(self, path: str, start: int, max_lines: int, max_bytes: int) -> LineSlice:
        raise self._error

    async def write(self, path: str, data: bytes, expected: Expected = None, *, executable: bool = False) -> FileInfo:
        raise self._error

    async def list(self, path: str) -> list[DirEntry]:
        raise self._error

    async def search(self, query: SearchQuery) -> SearchResult:
        raise self._error

    async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
        raise self._error

    async def run(self, command: CommandRequest, on_output: OnOutput | None = None) -> CommandResult:
        raise self._error


@each(("name", "arguments"), CALLS)
@each("blind", [True, False])
def test_missing_permission_is_said_with_what_to_do(name: str, arguments: dict[str, Json], blind: bool) -> None:
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "a")

    message = run(Toolbox(FailingWorkspace(error, blind=blind)).failure(name, **arguments))

    assert message == "Permission denied: a. Do not retry; use another path or ask the user."


@each(("name", "arguments"), CALLS)
def test_other_failures_are_passed_on(name: str, arguments: dict[str, Json]) -> None:
    error = OSError(errno.EIO, "Input/output error", "a")

    assert run(Toolbox(FailingWorkspace(error, blind=False)).failure(name, **arguments)) == "a: Input/output error."


def test_a_command_that_cannot_be_run_is_said() -> None:
    tools = Toolbox(FailingWorkspace(WorkspaceUnavailableError("The process is gone."), blind=False))

    assert run(tools.failure("bash", command="true")) == "The command could not be run: The process is gone."
