"""Parsing that begins as soon as a text is known, in a process that survives what it parses."""

import asyncio
import typing
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from kaa.hands.wire import Frame
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.asking import HostAsker
from kaa.workspace.parsing import Parsed, Parser
from kaa.workspace.sandbox.sandbox import Sandbox
from kaa.workspace.slots import Slot, SlotKind, SlotRequests
from tests.support.elsewhere import folder_elsewhere


class Requests(SlotRequests):
    """Answers that come when they are let; remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.come = asyncio.Event()

    def expect(self) -> None:
        pass

    def close(self) -> None:
        pass

    async def call(self, path: str, request: Mapping[str, object], body: bytes = b"") -> Frame:
        self.asked.append(body)
        await self.come.wait()
        return Frame({"before": [], "after": [], "python": "3.13"}, b"")


_CLEAN = Parsed((), (), "3.13")


def test_what_is_expected_is_parsed_when_it_is_written_and_only_once() -> None:
    async def scene() -> None:
        requests = Requests()
        parser = Parser(requests)
        parser.expect("python", "/p/a.py", b"x = 1\n")
        parser.written("/p/b.py", b"y = 1\n")
        parser.written("/p/a.py", b"x = 2\n")
        parser.written("/p/a.py", b"x = 3\n")  # another write: nobody said that it will be asked about
        await asyncio.sleep(0)
        assert requests.asked == [b"x = 1\nx = 2\n"]
        requests.come.set()
        assert await parser.parse("python", b"x = 1\n", b"x = 2\n") == _CLEAN
        assert len(requests.asked) == 1

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("language", "before", "after"),
    [("python", b"x = 1\n", b"x = 4\n"), ("python", None, b"x = 2\n"), ("json", b"x = 1\n", b"x = 2\n")],
)
def test_other_texts_are_parsed_anew(language: str, before: bytes | None, after: bytes) -> None:
    async def scene() -> None:
        requests = Requests()
        requests.come.set()
        parser = Parser(requests)
        parser.expect("python", "/p/a.py", b"x = 1\n")
        parser.written("/p/a.py", b"x = 2\n")
        await asyncio.sleep(0)
        assert await parser.parse(language, before, after) == _CLEAN
        assert requests.asked[-1] == (before or b"") + after
        assert len(requests.asked) == 2
        parser.close()

    asyncio.run(scene())


def test_calls_that_write_nothing_and_answers_nobody_wants_do_not_pile_up() -> None:
    async def scene() -> None:
        requests = Requests()
        parser = Parser(requests)
        for number in range(100):
            parser.expect("python", f"/p/{number}.py", None)
        for number in range(100):
            parser.written(f"/p/{number}.py", b"%d\n" % number)
        await asyncio.sleep(0)
        assert requests.asked == [b"%d\n" % number for number in range(84, 100)]
        for number in range(100):
            parser.expect("python", f"/p/{number}.py", None)
            parser.written(f"/p/{number}.py", b"%d\n" % -number)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) <= 18
        parser.close()

    asyncio.run(scene())


@pytest.fixture
def parsing() -> Callable[[Callable[[LocalWorkspace, Path], Awaitable[None]]], None]:
    """Plays a scene with a project in the sandbox."""

    def play(scene: Callable[[LocalWorkspace, Path], Awaitable[None]]) -> None:
        async def whole(folder: Path) -> None:
            workspace = LocalWorkspace.start(str(folder), env={"PATH": "/usr/bin:/bin", "HOME": str(folder)})
            try:
                if not (await workspace.sandbox.status()).confined:
                    pytest.skip("this machine cannot confine anything")
                await scene(workspace, folder)
            finally:
                await workspace.close()

        with folder_elsewhere() as folder:
            asyncio.run(whole(folder))

    return play


def test_one_process_parses_many_texts_and_another_one_takes_its_place(
    parsing: Callable[[Callable[[LocalWorkspace, Path], Awaitable[None]]], None],
) -> None:
    async def scene(workspace: LocalWorkspace, _folder: Path) -> None:
        for number in range(250):
            found = await workspace.parse("python", None, b"x = (\n" if number % 3 == 0 else b"x = 1\n")
            assert found is not None
            assert len(found.after) == (number % 3 == 0)

    parsing(scene)


def test_views_of_a_workspace_share_what_parses(
    parsing: Callable[[Callable[[LocalWorkspace, Path], Awaitable[None]]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[SlotKind] = []
    take = Sandbox.take

    async def noted(sandbox: Sandbox, kind: SlotKind) -> Slot:
        taken.append(kind)
        return await take(sandbox, kind)

    async def scene(workspace: LocalWorkspace, _folder: Path) -> None:
        monkeypatch.setattr(Sandbox, "take", noted)
        nobody = typing.cast("HostAsker", None)  # no command runs that could have a question
        for view in (workspace.asking(nobody), workspace.asking(nobody), workspace):
            assert await view.parse("json", None, b"1") is not None

    parsing(scene)
    assert taken == ["parser"]


def test_a_text_that_ends_its_process_leaves_the_next_one_parsed(
    parsing: Callable[[Callable[[LocalWorkspace, Path], Awaitable[None]]], None],
) -> None:
    async def scene(workspace: LocalWorkspace, _folder: Path) -> None:
        assert await workspace.parse("python", None, b"x = 1\n") == Parsed((), (), (await _version(workspace)))
        for _ in range(2):
            # More than it may use of memory: it ends, or says nothing.
            with_nothing = await workspace.parse("json", None, b"[" * 8_000_000)
            assert with_nothing is None or not with_nothing.before
            found = await workspace.parse("json", None, b"(")
            assert found is not None
            assert len(found.after) == 1

    parsing(scene)


async def _version(workspace: LocalWorkspace) -> str:
    found = await workspace.parse("json", None, b"1")
    assert found is not None
    return found.python
