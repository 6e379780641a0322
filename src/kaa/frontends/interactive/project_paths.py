"""The project's paths, to complete what is typed: listed by the core, searched here."""

from collections.abc import Callable, Sequence

from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.engine import Engine
from kaa.tui.fuzzy import FuzzyIndex
from kaa.workspace.file_index import FileListing


class ProjectPaths:
    """Has an index of the paths as soon as somebody needs it.

    Args:
        on_change: called when there is something else to find.
    """

    def __init__(self, core: CoreThread[Engine], on_change: Callable[[], None]) -> None:
        self._core = core
        self._on_change = on_change
        self._index: FuzzyIndex | None = None
        self._version = 0
        self._conversation = 0  # counts them: what is listed for one is not for the next
        self._is_asking = False

    def list_anew(self) -> None:
        """Another conversation is open, whose project has another index."""
        self._index, self._version = None, 0
        self._conversation += 1
        self._is_asking = False
        self.index()

    def index(self) -> FuzzyIndex | None:
        """What is known now; what is outdated is listed anew meanwhile."""
        if not self._is_asking:
            self._is_asking = True
            conversation = self._conversation
            self._core.call(
                self._list, lambda found: self._take(found, conversation), lambda _: self._give_up(conversation)
            )
        return self._index

    def ask(self, typed: str, found: Callable[[Sequence[str]], None]) -> None:
        """The paths that begin as typed, of the project or outside."""

        def take(paths: Sequence[str]) -> None:
            found(paths)
            self._on_change()

        self._core.call(lambda engine: engine.conversation.files.complete_path(typed), take, lambda _: found(()))

    async def _list(self, engine: Engine) -> tuple[FileListing, FuzzyIndex | None]:
        """The listing, and its index if it is another one; building it takes longer than a frame may."""
        import asyncio  # the core's thread has it loaded

        listing = await engine.conversation.files.refresh()
        if listing.version == self._version:
            return listing, None
        return listing, await asyncio.to_thread(FuzzyIndex, listing.paths)

    def _take(self, found: tuple[FileListing, FuzzyIndex | None], conversation: int) -> None:
        if conversation != self._conversation:
            return
        self._is_asking = False
        listing, index = found
        if index is not None:
            self._index, self._version = index, listing.version
            self._on_change()

    def _give_up(self, conversation: int) -> None:
        if conversation == self._conversation:
            self._is_asking = False  # without paths, nothing is completed
