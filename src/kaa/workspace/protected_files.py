"""Files that commands may not write: what kaa wrote there because the user permitted it, and the way back.

/undo writes outside the sandbox only what was there right before such a write: that was the user's own, because no
command can write it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from kaa.hands.checkpoints.states import MAX_FILE_BYTES, digest_of
from kaa.workspace.checkpoints.contract import FileChange, FileState
from kaa.workspace.protocol import FileContent, WorkspaceUnavailableError
from kaa.workspace.sandbox.findings import Carrier
from kaa.workspace.slots import Slots

if TYPE_CHECKING:
    from kaa.workspace.sandbox.sandbox import Sandbox

_UNKNOWN = "unknown"  # is no digest

# Whose content kaa wrote: the model's, which the user permitted, or what the user had made.
Owner: TypeAlias = Literal["model", "user"]


class _Reader(Protocol):
    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent: ...


class PermittedWrites:
    """Notes what files contained before and after writes that the user permitted.

    Args:
        inspect: has the guard move away what commands have planted until now.
    """

    def __init__(self, inspect: Callable[[], Awaitable[None]]) -> None:
        self._inspect = inspect
        # By path and digest after a write: the digest before it, and the owner of the content.
        self._writes: dict[str, dict[str, tuple[str | None, Owner]]] = {}

    @asynccontextmanager
    async def noting(self, workspace: _Reader, path: str, content: bytes, owner: Owner) -> AsyncIterator[None]:
        """Note a write that is done meanwhile.

        Args:
            path: absolute, without links.
        """
        try:
            await self._inspect()
            before = await _digest(workspace, path)
            await self._inspect()  # a process may have planted the file between these two
            if await _digest(workspace, path) != before:
                before = _UNKNOWN
        except WorkspaceUnavailableError:
            before = _UNKNOWN
        yield
        if before != _UNKNOWN:
            self._writes.setdefault(path, {})[digest_of(content)] = before, owner

    def owner_of(self, path: str, change: FileChange) -> Owner | None:
        """Return whose writes led from the state before a change to the one after it; None if others did, too."""
        writes, before, at = self._writes.get(path, {}), _digest_of(change.before), _digest_of(change.after)
        owners: set[Owner] = set()
        for _ in range(len(writes)):
            if at is None or at not in writes:
                return None
            at, owner = writes[at]
            owners.add(owner)
            if at == before:
                return owner if len(owners) == 1 else None
        return None


class ProtectedFiles:
    """What is protected in a project, and restores of it."""

    def __init__(self, sandbox: "Sandbox", outside: "Callable[[], Sandbox]") -> None:
        self._sandbox = sandbox
        self._outside = outside

    def denies(self, path: str) -> bool:
        """Whether the sandbox protects an absolute path, whatever the user lets commands write."""
        if not self._sandbox.confined:
            return False
        denied = self._sandbox.denials().of_write(path)
        return denied is not None and denied.kind in ("protected", "kaa")

    def owner_of(self, path: str, change: FileChange) -> Owner | None:
        """Return whose content kaa wrote with this change of an absolute path; None if kaa did not make it."""
        return self._sandbox.written_with_permission.owner_of(path, change)

    @asynccontextmanager
    async def writing(self, contents: Mapping[str, bytes]) -> AsyncIterator[Slots]:
        """Let files be written outside the sandbox. The guard accepts these contents.

        Args:
            contents: what absolute paths get; empty for those that are removed.
        """
        outside = self._outside()
        async with AsyncExitStack() as held:
            for path, content in contents.items():
                carrier = Carrier(self._sandbox.findings.last, path, content=content)
                await held.enter_async_context(outside.guarded(carrier))
            yield outside


async def _digest(workspace: _Reader, path: str) -> str | None:
    """The digest of a file's content; None if there is no file."""
    try:
        found = await workspace.read(path, 0, MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError:
        return _UNKNOWN
    return digest_of(found.data) if found.size <= MAX_FILE_BYTES else _UNKNOWN


def _digest_of(state: FileState | None) -> str | None:
    if state is None:
        return None
    return state.digest if state.kind == "file" else _UNKNOWN
