from collections.abc import Callable
from typing import Any, cast

from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.project_paths import ProjectPaths
from kaa.workspace.file_index import FileListing
from tests.frontends.interactive.offscreen import ImmediateCore


class Files:
    """Has a listing, and counts how often it is asked."""

    def __init__(self) -> None:
        self.conversation = self
        self.files = self
        self.listing: FileListing | None = FileListing(("src/", "src/main.py"), True, 1)
        self.asked = 0

    async def refresh(self) -> FileListing:
        self.asked += 1
        if self.listing is None:
            raise OSError("the project is gone")
        return self.listing

    async def complete_path(self, typed: str) -> list[str]:
        if typed == "~/":
            raise PermissionError(typed)
        return [f"{typed}one", f"{typed}two"]


class LateCore(ImmediateCore):
    """Does what it is asked to when it is told so."""

    def __init__(self, engine: object) -> None:
        super().__init__(engine)
        self._asked: list[Callable[[], None]] = []

    def call(self, *arguments: Any, **named: Any) -> None:  # any: as the other
        self._asked.append(lambda: ImmediateCore.call(self, *arguments, **named))

    def work(self) -> None:
        """Do it now."""
        while self._asked:
            self.work_once()

    def work_once(self) -> None:
        """Do what was asked first."""
        self._asked.pop(0)()


class World:
    """Paths, and how often they changed."""

    def __init__(self) -> None:
        self.engine = Files()
        self.changes = 0
        self.core = LateCore(self.engine)
        self.paths = ProjectPaths(cast("CoreThread[Engine]", self.core), self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def found(self, typed: str) -> list[str]:
        """What is found now; the core looks again afterwards."""
        index = self.paths.index()
        self.core.work()
        return [] if index is None else index.search(typed)


def test_paths_are_found_once_they_are_listed() -> None:
    world = World()

    assert world.found("main") == []
    assert world.changes == 1
    assert world.found("main") == ["src/main.py"]


def test_only_one_listing_is_asked_for_at_a_time() -> None:
    world = World()

    for _ in range(3):
        world.paths.index()
    world.core.work()

    assert world.engine.asked == 1


def test_a_listing_that_did_not_change_is_indexed_once() -> None:
    world = World()
    world.found("")
    index = world.paths.index()
    world.core.work()

    assert world.paths.index() is index
    assert world.changes == 1


def test_new_files_are_found_with_the_next_look() -> None:
    world = World()
    world.found("")
    world.engine.listing = FileListing(("new.py",), True, 2)
    world.found("")

    assert world.found("new") == ["new.py"]
    assert world.changes == 2


def test_another_conversation_begins_anew() -> None:
    world = World()
    world.found("")

    world.paths.list_anew()

    assert world.paths.index() is None


def test_what_was_listed_for_the_conversation_before_is_not_taken_for_this_ones() -> None:
    world = World()
    world.paths.index()

    world.paths.list_anew()
    world.core.work_once()
    assert world.changes == 0
    world.engine.listing = FileListing(("other.py",), True, 1)
    world.core.work()

    assert world.found("py") == ["other.py"]


def test_a_project_that_cannot_be_listed_is_asked_again() -> None:
    world = World()
    world.engine.listing = None

    assert world.found("main") == []
    assert world.found("main") == []

    assert world.engine.asked == 2
    assert world.changes == 0


def test_paths_outside_are_asked_for_each_time() -> None:
    world = World()
    found: list[list[str]] = []

    world.paths.ask("/etc/", lambda paths: found.append(list(paths)))
    world.paths.ask("~/", lambda paths: found.append(list(paths)))
    world.core.work()

    assert found == [["/etc/one", "/etc/two"], []]
    assert world.changes == 1
