"""Sessions and places in one, by chance: what stands behind the lists and the tree."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from kaa.core.events import BranchChanged
from kaa.core.messages import user_message
from kaa.session.catalogue.matching import QueryError
from kaa.session.catalogue.records import SearchHit, SessionSummary
from kaa.session.outline import Outline, OutlineRow, RowKind
from kaa.shell.navigating import Arrival, NavigationTarget, RewindPoint
from kaa.workspace.checkpoints.plans import FileConflict, FileStep, RestorePlan, RestoreResult
from tests.frontends.interactive.chance import Chance

_KINDS: tuple[RowKind, ...] = get_args(RowKind)
_ACTIONS: tuple[Literal["restore", "create", "delete"], ...] = ("restore", "create", "delete")


class ScriptedSessions:
    """As `kaa.shell.sessions.Sessions`."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def list(self, scope: str, progress: Callable[[int, int], None]) -> Sequence[SessionSummary]:
        count = self._chance.random.choice((0, 1, 5, 20, 20, 900))
        for number in range(count):
            progress(number, count)
        return [self._session(number) for number in range(count)]

    def search(self, text: str, scope: str, limit: int) -> Sequence[SearchHit]:
        if self._chance.one_in(5):
            raise QueryError(text)
        said = self._chance.text
        hits = range(self._chance.random.randrange(4))
        return [SearchHit(self._session(number), str(number), said(2), said(2), said(2)) for number in hits]

    def rename(self, path: Path, name: str) -> None:
        self._perhaps_refuse()

    def trash(self, path: Path) -> None:
        self._perhaps_refuse()

    def _perhaps_refuse(self) -> None:
        if self._chance.one_in(2):
            raise OSError(self._chance.text(3))

    def _session(self, number: int) -> SessionSummary:
        random, text = self._chance.random, self._chance.text
        return SessionSummary(
            Path(f"/sessions/{number}.jsonl"),
            str(number),
            random.choice(("/project", text(2))),
            random.choice((None, text(2))),
            text(5),
            1,
            random.choice((0, 10**9, 10**12, 10**18)),
            random.randrange(10**6),
            random.choice((None, Path(f"/sessions/{random.randrange(30)}.jsonl"))),
            1,
            random.choice(("kaa", "pi")),
        )


class ScriptedNavigation:
    """As `kaa.shell.navigating.Navigation`.

    Args:
        chance: what there is.
        tell: passes events on.
    """

    def __init__(self, chance: Chance, tell: Callable[[list[Any]], None]) -> None:
        self._chance = chance
        self._tell = tell

    def points(self) -> list[RewindPoint]:
        return [RewindPoint(str(number), self._chance.text(), 1) for number in range(self._chance.random.randrange(30))]

    async def outline(self) -> Outline:
        count = self._chance.random.choice((0, 1, 10, 40, 400))
        rows = [self._row(number) for number in range(count)]
        return Outline(tuple(rows), self._chance.random.choice(rows).entry_id if rows else None)

    async def to(self, entry_id: str) -> NavigationTarget:
        return self._destination()

    async def back(self) -> NavigationTarget | None:
        return None if self._chance.one_in(3) else self._destination()

    async def forward(self) -> NavigationTarget | None:
        return None if self._chance.one_in(3) else self._destination()

    async def go(self, destination: NavigationTarget, *, restore: str, summary: object) -> Arrival:
        if restore == "conversation":
            files = None
        else:
            files = RestoreResult(destination.files.steps, destination.files.conflicts)
        self._tell([BranchChanged(destination.leaf_id)])
        return Arrival(destination.message, files)

    def label(self, entry_id: str, text: str | None) -> None:
        pass

    def _row(self, number: int) -> OutlineRow:
        random, text = self._chance.random, self._chance.text
        parent = None if number == 0 or self._chance.one_in(10) else str(max(0, number - random.choice((1, 1, 1, 5))))
        label = random.choice((None, None, text(2)))
        kind = random.choice(_KINDS)
        return OutlineRow(
            str(number), parent, kind, text(), 1, self._chance.one_in(2), self._chance.one_in(5), label, 1
        )

    def _destination(self) -> NavigationTarget:
        random, text = self._chance.random, self._chance.text
        count = random.choice((0, 0, 1, 3, 40))
        steps = [FileStep(text(2), random.choice(_ACTIONS), random.choice((0, 7)), 3) for _ in range(count)]
        conflicts = [FileConflict(text(2), text(4)) for _ in range(random.choice((0, 0, 1)))]
        return NavigationTarget(
            random.choice((None, "1")),
            random.choice((None, user_message(text()))),
            random.randrange(3),
            RestorePlan(tuple(steps), tuple(conflicts), (text(3),) if self._chance.one_in(5) else ()),
            text(2) if self._chance.one_in(5) else None,
        )
