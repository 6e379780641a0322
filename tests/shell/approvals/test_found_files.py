"""Files that were moved away beside all calls: in which order they are asked about, and what is told of them."""

import asyncio
from collections.abc import Sequence

from kaa.shell.approvals.found_files import FoundFiles
from kaa.shell.approvals.set_aside import Outcome
from kaa.workspace.blocked import Blocked
from tests.support.agents import run

_ENVRC, _AGAIN, _OTHER = (
    Blocked("protected", "/p/.envrc", "/p/.envrc.kaa-blocked"),
    Blocked("protected", "/p/.envrc", "/p/.envrc.kaa-blocked-2"),
    Blocked("protected", "/p/.vscode", "/p/.vscode.kaa-blocked"),
)


class _Scene:
    """Offers what was found, and notes what becomes of it."""

    def __init__(self, *, asks: bool = True, settles: bool = True) -> None:
        self.offered: list[Sequence[Blocked]] = []
        self.forgotten: list[Blocked] = []
        self.notices: list[str] = []
        self.answer = asyncio.Event()
        self._asks, self._settles = asks, settles
        self.files = FoundFiles(self._offer, self.notices.append)

    def add(self, found: Blocked) -> None:
        self.files.add(found, self.forgotten.append)

    async def _offer(self, found: Sequence[Blocked]) -> Outcome | None:
        self.offered.append(found)
        await self.answer.wait()
        return Outcome(settled=tuple(found) if self._settles else ()) if self._asks else None

    async def all_answered(self, *, forgotten: int = 0, told: int = 0) -> None:
        self.answer.set()
        while len(self.forgotten) < forgotten or len(self.notices) < told:
            await asyncio.sleep(0.01)


def test_files_that_are_found_together_are_one_question_with_all_versions_of_one() -> None:
    async def play() -> _Scene:
        scene = _Scene()
        for one in (_ENVRC, _OTHER, _AGAIN):
            scene.add(one)
        await scene.all_answered(forgotten=3)
        return scene

    scene = run(play())

    assert [set(found) for found in scene.offered] == [{_ENVRC, _OTHER, _AGAIN}]
    assert scene.notices == []


def test_what_nobody_is_asked_about_and_what_stays_away_is_told() -> None:
    async def play(scene: _Scene) -> _Scene:
        scene.add(_ENVRC)
        await scene.all_answered(told=1)
        return scene

    async def both() -> list[_Scene]:
        return [await play(_Scene(asks=False)), await play(_Scene(settles=False))]

    for scene in run(both()):
        assert scene.notices == [_ENVRC.notice]
        assert scene.forgotten == []


def test_at_the_end_the_question_is_withdrawn_and_it_is_told_where_the_files_are() -> None:
    async def play() -> _Scene:
        scene = _Scene()
        scene.add(_ENVRC)
        while not scene.offered:
            await asyncio.sleep(0.01)
        await scene.files.close()
        return scene

    assert run(play()).notices == [_ENVRC.notice]
