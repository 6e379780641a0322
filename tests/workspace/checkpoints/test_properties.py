"""Any turns of the agent and anything somebody else does in between: going to any point and back, in every workspace.

What must come out is worked out path by path from the states that were written down, without any code of kaa's.
"""

import asyncio
import os
import shutil
from collections.abc import Coroutine, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kaa.workspace.checkpoints.contract import CheckpointLimits, Checkpoints
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.sandbox.options import SandboxOptions

Tree: TypeAlias = dict[str, str]
"""Texts of files; `/` for directories."""
T = TypeVar("T")
Kind = Literal["write", "delete"]


class Deed(NamedTuple):
    """What somebody does to a file."""

    kind: Kind
    path: str
    text: str


class Step(NamedTuple):
    """Somebody else's deeds, and then those of a turn."""

    others: Sequence[Deed]
    turn: Sequence[Deed]


class Project(Protocol):
    """A project in which anything can be done to files."""

    def checkpoints(self) -> Checkpoints:
        """Those of a new session."""
        ...

    def reset(self) -> None:
        """Remove all files."""
        ...

    def do(self, deed: Deed) -> None:
        """Do something that is possible; what is in the way of a file goes."""
        ...

    def tree(self) -> Tree:
        """Everything that is there."""
        ...

    def run(self, scenario: Coroutine[Any, Any, T]) -> T:
        """Wait for something."""
        ...


class OnDisk:
    """The real thing."""

    def __init__(self, folder: Path) -> None:
        self._root, self._store = folder / "project", folder / "store"
        self._root.mkdir()
        self._sessions = 0
        self._runner = asyncio.Runner()
        env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        full_access = SandboxOptions(mode="full-access")
        self._workspace = LocalWorkspace.start(str(self._root), env=env, sandbox=full_access)

    def checkpoints(self) -> Checkpoints:
        self._sessions += 1
        return self._workspace.checkpoints(str(self._store), f"session {self._sessions}", CheckpointLimits())

    def reset(self) -> None:
        for name in os.listdir(self._root):
            path = self._root / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def do(self, deed: Deed) -> None:
        path = self._root / deed.path
        if deed.kind == "delete":
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=path.parent.is_dir())
            return
        for above in reversed(path.relative_to(self._root).parents):
            if (self._root / above).is_file():
                (self._root / above).unlink()
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(deed.text)

    def tree(self) -> Tree:
        found = self._root.rglob("*")
        return {str(path.relative_to(self._root)): path.read_text() if path.is_file() else "/" for path in found}

    def run(self, scenario: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(scenario)

    def close(self) -> None:
        self._runner.run(self._workspace.close())
        self._runner.close()


class InMemory:
    """A project that lives in memory."""

    def __init__(self) -> None:
        self._workspace = MemoryWorkspace()

    def checkpoints(self) -> Checkpoints:
        return self._workspace.checkpoints("", "session", CheckpointLimits())

    def reset(self) -> None:
        self._workspace = MemoryWorkspace()

    def do(self, deed: Deed) -> None:
        if deed.kind == "delete":
            self._workspace.erase(deed.path)
            return
        for end in [at for at, character in enumerate(deed.path) if character == "/"]:
            if self.tree().get(deed.path[:end], "/") != "/":
                self._workspace.erase(deed.path[:end])
        self._workspace.erase(deed.path)
        _at_once(self._workspace.write(deed.path, deed.text.encode()))

    def tree(self) -> Tree:
        return _at_once(self._tree("."))

    async def _tree(self, directory: str) -> Tree:
        found: Tree = {}
        for entry in await self._workspace.list(directory):
            path = entry.name if directory == "." else f"{directory}/{entry.name}"
            if entry.kind == "directory":
                found |= {path: "/", **await self._tree(path)}
            else:
                found[path] = (await self._workspace.read(path)).data.decode()
        return found

    def run(self, scenario: Coroutine[Any, Any, T]) -> T:
        return _at_once(scenario)


@pytest.fixture(params=["memory", "disk"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    if request.param == "memory":
        yield InMemory()
        return
    on_disk = OnDisk(tmp_path)
    yield on_disk
    on_disk.close()


# Few names and texts, so that deeds meet; `d` is a directory or a file.
_PATHS = st.sampled_from(["a", "b", "d", "d/x", "d/y", "d/e/z"])
_DEEDS = st.lists(
    st.builds(Deed, st.sampled_from(["write", "write", "delete"]), _PATHS, st.sampled_from(["", "1\n", "2\n3\n"])),
    max_size=4,
)
_STEPS = st.lists(st.builds(Step, st.one_of(st.just(()), _DEEDS), _DEEDS), min_size=1, max_size=4)


def _possible(tree: Tree, deed: Deed) -> bool:
    """Whether a file can be deleted, or there is something else in the way."""
    return deed.kind == "write" or any(path == deed.path or path.startswith(deed.path + "/") for path in tree)


class History(NamedTuple):
    """A turn that changed something: its change set, and all files before and after it."""

    change_set: str
    before: Tree
    after: Tree


def _expected(histories: Sequence[History], now: Tree, *, forward: bool) -> tuple[Tree, set[str]]:
    """All files after the turns were taken back (the newest first) or done again, and those that are in conflict."""
    result, conflicts = dict(now), set()
    ordered = list(histories) if forward else list(reversed(histories))
    paths = {path for history in histories for path in (*history.before, *history.after)}
    for path in paths:
        ends = [(history.before.get(path), history.after.get(path)) for history in ordered]
        moves = [(one, other) if forward else (other, one) for one, other in ends if one != other]
        # Where somebody else changed it in between, it goes back to what they left, and forward from there.
        gaps = [at for at, (one, other) in enumerate(pairwise(moves), 1) if one[1] != other[0]]
        moves = (moves[gaps[-1] :] if forward else moves[: gaps[0]]) if gaps else moves
        if not moves or moves[0][0] == moves[-1][1] or now.get(path) == moves[-1][1]:
            continue
        start, end = moves[0][0], moves[-1][1]
        # A directory in place of a file, or the other way round, takes two steps; a kill in between leaves nothing.
        is_halfway = path not in now and None not in (start, end) and "/" in (start, end)
        if not (is_halfway or now.get(path) == start):
            if {start, end} - {None, "/"}:  # directories alone are nobody's concern
                conflicts.add(path)
        elif end is None:
            del result[path]
        else:
            result[path] = end
    return result, conflicts


def _fits(tree: Tree) -> bool:
    """Whether no file is where something else needs a directory, if only an empty one that somebody else made."""
    files = [path for path, text in tree.items() if text != "/"]
    return not any(other.startswith(path + "/") for path in files for other in tree)


def _files(tree: Tree) -> Tree:
    return {path: text for path, text in tree.items() if text != "/"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=_STEPS, interference=st.one_of(st.just([]), _DEEDS), first=st.integers(0, 4))
@example(
    steps=[Step((), [Deed("write", "d/x", "")]), Step([Deed("write", "d/y", "")], [Deed("write", "d", "")])],
    interference=[],
    first=0,
)
def test_going_anywhere_and_back(
    project: Project, steps: Sequence[Step], interference: Sequence[Deed], first: int
) -> None:
    project.reset()
    kept = project.checkpoints()
    try:
        part = _play(project, kept, steps)[first:]
        _do_all(project, interference)

        for forward in (False, True):
            now = project.tree()
            wanted, conflicts = _expected(part, now, forward=forward)
            ids = [history.change_set for history in part]
            plan = project.run(kept.preview([] if forward else ids[::-1], ids if forward else []))
            assert project.tree() == now
            assert {conflict.path for conflict in plan.conflicts} == conflicts
            result = project.run(kept.restore(plan))
            if _fits(wanted):
                assert _files(project.tree()) == _files(wanted)
                assert {conflict.path for conflict in result.kept} == conflicts
                assert not result.failed
    finally:
        project.run(kept.close())


def _flat_deeds(text: str) -> st.SearchStrategy[list[Deed]]:
    """Deeds to files beside each other, with texts of these letters."""
    kinds, names = st.sampled_from(["write", "write", "delete"]), st.sampled_from(["a", "b"])
    return st.lists(st.builds(Deed, kinds, names, st.sampled_from(text)), max_size=3)


_FLAT_STEPS = st.lists(st.builds(Step, _flat_deeds("mno"), _flat_deeds("123")), min_size=1, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    turns=st.lists(_FLAT_STEPS, min_size=1, max_size=3),
    interference=_flat_deeds("mno"),
    in_background=st.booleans(),
)
@example(
    turns=[[Step([Deed("write", "a", "m")], [Deed("write", "a", "1")])]],
    interference=[],
    in_background=True,
)
def test_what_somebody_wrote_before_a_command_comes_back_whatever_runs_in_the_background(
    project: Project, turns: Sequence[Sequence[Step]], interference: Sequence[Deed], *, in_background: bool
) -> None:
    project.reset()
    project.do(Deed("write", "a", "1"))
    kept = project.checkpoints()
    wanted, left_by_commands = project.tree(), project.tree()
    others = [deed for turn in turns for step in turn for deed in step.others] + [*interference]
    ids = []
    try:
        project.run(kept.ready(call="first"))
        project.run(kept.ended("first", in_background=in_background))
        for turn in turns:
            for step in turn:
                _do_all(project, step.others)
                before = project.tree()
                project.run(kept.ready(call="command"))
                _do_all(project, step.turn)
                project.run(kept.ended("command", in_background=in_background))
                after = project.tree()
                for path in {path for path in {*before, *after} if before.get(path) != after.get(path)}:
                    if before.get(path) != left_by_commands.get(path):
                        _set(wanted, path, before.get(path))
                    _set(left_by_commands, path, after.get(path))
            change_set = project.run(kept.collect(more_to_come=in_background))
            ids += [change_set.id] if change_set is not None else []
        _do_all(project, interference)
        change_set = project.run(kept.collect())
        ids += [change_set.id] if change_set is not None else []
        now = project.tree()
        for path in {*now, *wanted, *left_by_commands}:
            if now.get(path) != left_by_commands.get(path):
                _set(wanted, path, now.get(path))

        for _ in range(2):  # the second time after everything was done again
            project.run(kept.restore(project.run(kept.preview(ids[::-1], [])).keeping_uncertain("")))
            assert project.tree() == wanted
            project.run(kept.restore(project.run(kept.preview([], ids)).keeping_uncertain("")))
            assert project.tree() == now or now != left_by_commands or any(deed.kind == "delete" for deed in others)
    finally:
        project.run(kept.close())


def _set(tree: Tree, path: str, text: str | None) -> None:
    if text is None:
        tree.pop(path, None)
    else:
        tree[path] = text


def _play(project: Project, kept: Checkpoints, steps: Sequence[Step]) -> list[History]:
    """Do everything, turn by turn; every change of a turn must be in its change set, and nothing else."""
    histories = []
    for step in steps:
        _do_all(project, step.others)
        project.run(kept.ready())
        before = project.tree()
        _do_all(project, step.turn)
        after = project.tree()
        change_set = project.run(kept.collect())
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        assert changed == ({change.path for change in change_set.changes} if change_set is not None else set())
        if change_set is not None:
            histories.append(History(change_set.id, before, after))
    return histories


def _do_all(project: Project, deeds: Sequence[Deed]) -> None:
    for deed in deeds:
        if _possible(project.tree(), deed):
            project.do(deed)


def _at_once(scenario: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing."""
    try:
        scenario.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    raise AssertionError("it waits for something")
