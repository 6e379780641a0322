"""A project with more files than are read at once: what is read later, and what is said of files that change before."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.hands.checkpoints.backlog import Portion
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import ScanLimits
from kaa.hands.checkpoints.states import FRESH_NS, digest_of
from kaa.hands.checkpoints.tracker import Tracker
from kaa.hands.inotify import Inotify

_FILES = 20
_FIRST = 5
_ALL = Portion()
_PORTION = Portion(_FIRST, 1000)


class Project:
    """Trackers of the test's folder, and what they read."""

    def __init__(self, root: Path, *, hints: bool) -> None:
        self.root = root
        self.read: list[bytes] = []
        self._hints = hints
        self._opened: list[Inotify] = []

    def fill(self) -> None:
        """Write files, and wait until they are so old that their times tell whether they change."""
        for number in range(_FILES):
            path = self.root / f"d{number % 2}" / f"{number:02}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{number}")
        newest = max(path.stat().st_ctime_ns for path in self.root.rglob("*"))
        while time.time_ns() < newest + 2 * FRESH_NS:
            time.sleep(0.01)

    def begun(self, manifest: bytes = b"", first: Portion = _PORTION) -> tuple[Tracker, list[list[object]]]:
        """Give a tracker that has looked at everything, and its first report."""
        inotify = Inotify() if self._hints else None
        if inotify is not None:
            self._opened.append(inotify)
        tracker = Tracker(Roots([str(self.root)]), inotify, ScanLimits(1000, 1000_000), self.read.append, first)
        for _ in tracker.begin(manifest):
            pass
        return tracker, tracker.take_changes()

    def unread(self, tracker: Tracker) -> list[Path]:
        """Give the files whose content was not read yet."""
        assert tracker.uncovered.get("unread", 0) == _FILES - len(self.read)
        return [path for path in sorted(self.root.glob("d*/*")) if path.read_bytes() not in self.read]

    def close(self) -> None:
        """Close what trackers watch with."""
        for inotify in self._opened:
            inotify.close()


@pytest.fixture(params=["hints", "no hints"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """Give a project with files that are a moment old."""
    made = Project(tmp_path, hints=request.param == "hints")
    made.fill()
    yield made
    made.close()


def changes(tracker: Tracker) -> dict[str, tuple[object, object]]:
    """Give digests before and after of what changed; kinds for all but files."""
    rows = [(str(path), _shown(before), _shown(after)) for path, before, after in tracker.collect()]
    return {path: (before, after) for path, before, after in rows if before != after}


def _shown(state: object) -> object:
    assert state is None or isinstance(state, list)
    return state and (state[1] or state[0])


def digest(text: str) -> str:
    return digest_of(text.encode())


def test_only_the_first_files_are_read_and_the_others_counted(project: Project) -> None:
    tracker, rows = project.begun()

    assert len(project.read) == _FIRST
    assert len([path for path, *_ in rows if str(path).startswith("d") and "/" in str(path)]) == _FIRST
    assert tracker.uncovered == {"unread": _FILES - _FIRST}
    assert changes(tracker) == {}


def test_bytes_are_limited_too(project: Project) -> None:
    project.begun(first=Portion(_FILES, 7))

    assert 7 <= len(b"".join(project.read)) <= 8


def test_all_are_read_where_that_is_wanted_or_there_are_few(project: Project) -> None:
    for first in (_ALL, Portion(_FILES, 1000)):
        project.read.clear()
        tracker, _ = project.begun(first=first)

        assert len(project.read) == _FILES
        assert tracker.uncovered == {}


def test_a_portion_of_the_others_is_read_later_and_known_from_then_on(project: Project) -> None:
    tracker, _ = project.begun()

    for _ in tracker.read_more(Portion(10, 1000), 0):
        pass

    assert len(project.read) == _FIRST + 10
    assert len(tracker.take_learned()) == 10
    assert tracker.take_learned() == []
    assert changes(tracker) == {}
    for path in sorted(project.root.glob("d*/*")):
        path.write_text("new")
    before = [known for known, _ in changes(tracker).values()]
    assert (len(before), before.count("unread")) == (_FILES, _FILES - _FIRST - 10)


def test_nothing_more_is_read_above_the_limit(project: Project) -> None:
    tracker, _ = project.begun()

    for _ in tracker.read_more(_ALL, 1):
        pass

    assert len(project.read) == _FIRST


def test_what_changes_before_it_was_read_has_no_content_and_is_never_called_new(project: Project) -> None:
    tracker, _ = project.begun()
    changed, gone, *_ = [str(path.relative_to(project.root)) for path in project.unread(tracker)]

    (project.root / changed).write_text("changed")
    (project.root / gone).unlink()
    (project.root / "d0" / "new").write_text("new")

    assert changes(tracker) == {
        changed: ("unread", digest("changed")),
        gone: ("unread", None),
        "d0/new": (None, digest("new")),
    }
    (project.root / changed).write_text("again")
    assert changes(tracker) == {changed: (digest("changed"), digest("again"))}


def test_what_changed_is_not_read_as_what_was_there(project: Project) -> None:
    tracker, _ = project.begun()
    changed, *_ = project.unread(tracker)
    changed.write_text("changed")

    for _ in tracker.read_more(_ALL, 0):
        pass

    assert b"changed" not in project.read
    assert changes(tracker) == {str(changed.relative_to(project.root)): ("unread", digest("changed"))}
    assert tracker.uncovered == {}


def test_a_directory_that_goes_takes_its_unread_files_with_it(project: Project) -> None:
    tracker, _ = project.begun()
    unread = [str(path.relative_to(project.root)) for path in project.unread(tracker)]

    (project.root / "d1").rename(project.root.parent / f"{project.root.name} elsewhere")

    told = changes(tracker)
    gone = [path for path in unread if path.startswith("d1/")]
    assert sorted(path for path, change in told.items() if change == ("unread", None)) == gone
    assert tracker.uncovered.get("unread", 0) == len(unread) - len(gone)


def test_a_file_is_read_before_a_tool_of_kaa_writes_it_or_a_command_removes_it(project: Project) -> None:
    tracker, _ = project.begun()
    written, removed, *_ = project.unread(tracker)
    name = str(removed.relative_to(project.root))

    tracker.note(str(written))
    assert written.read_bytes() in project.read
    tracker.look_again()
    assert tracker.has(name, os.lstat(removed))
    assert removed.read_bytes() in project.read

    before = written.read_text()
    written.write_text("written")
    assert changes(tracker) == {str(written.relative_to(project.root)): (digest(before), digest("written"))}


def test_later_sessions_read_the_next_ones_and_take_none_for_new(project: Project) -> None:
    manifest, read = b"", 0
    while read < _FILES:
        project.read.clear()
        tracker, rows = project.begun(manifest)
        for line in ([[path, after] for path, _, after in rows], tracker.take_learned()):
            manifest += json.dumps(line).encode() + b"\n"
        read += len(project.read)
        # Comparing those that are known takes some of the portion.
        assert len(project.read) in (_FIRST, _FIRST - 1) or read == _FILES
        if read > _FIRST:
            assert not [path for path, before, _ in rows if before is None]

    tracker, rows = project.begun(manifest)
    assert (rows, tracker.take_learned(), tracker.uncovered) == ([], [], {})
    (project.root / "d0" / "while nobody looks").write_text("x")
    _, rows = project.begun(manifest)
    assert [(path, before) for path, before, _ in rows] == [("d0/while nobody looks", None)]


def _make(project: Project, folder: str = "made") -> dict[str, str]:
    """Have a command make more files than are read at once; gives their contents, by path."""
    contents = {f"{folder}/{number:02}": f"{folder} {number}" for number in range(_FILES)}
    (project.root / folder).mkdir()
    for path, text in contents.items():
        (project.root / path).write_text(text)
    newest = max((project.root / path).stat().st_ctime_ns for path in contents)
    while time.time_ns() < newest + 2 * FRESH_NS:
        time.sleep(0.01)
    project.read.clear()
    return contents


def _made(rows: list[list[object]]) -> dict[str, tuple[object, object]]:
    changed = {str(path): (_shown(before), _shown(after)) for path, before, after in rows}
    return {path: change for path, change in changed.items() if "/" in path}


def test_of_many_new_files_the_first_are_read_and_the_others_told_as_unread(project: Project) -> None:
    tracker, _ = project.begun(first=_ALL)
    contents = _make(project)

    rows = _made(tracker.collect(_PORTION))

    assert len(project.read) == _FIRST
    assert rows.keys() == contents.keys()
    assert [before for before, _ in rows.values()] == [None] * _FILES
    assert [after for _, after in rows.values()].count("unread") == _FILES - _FIRST
    assert tracker.uncovered == {"unread": _FILES - _FIRST}
    assert changes(tracker) == {}


def test_new_files_are_read_in_portions_and_by_the_next_look_without_one(project: Project) -> None:
    tracker, _ = project.begun(first=_ALL)
    contents = _make(project)
    told = _made(tracker.collect(_PORTION))

    for _ in tracker.read_more(Portion(10, 1000), 0):
        pass
    assert len(project.read) == _FIRST + 10
    completed = tracker.take_completed()
    assert (len(completed), tracker.take_learned()) == (10, [])

    assert tracker.collect() == []
    completed += tracker.take_completed()
    digests = {str(path): _shown(state) for path, state in completed}
    assert {**{path: after for path, (_, after) in told.items()}, **digests} == {
        path: digest(text) for path, text in contents.items()
    }
    assert tracker.uncovered == {}


def test_a_new_file_that_changes_or_goes_before_it_was_read_is_told_from_what_was_told(project: Project) -> None:
    tracker, _ = project.begun(first=_ALL)
    _make(project)
    rows = _made(tracker.collect(_PORTION))
    changed, gone, moved, *_ = [path for path, (_, after) in rows.items() if after == "unread"]

    (project.root / changed).write_text("changed")
    (project.root / gone).unlink()
    (project.root / moved).rename(project.root / "moved")

    assert _made(tracker.collect(_PORTION)) == {
        changed: ("unread", digest("changed")),
        gone: ("unread", None),
        moved: ("unread", None),
    }
    tracker.collect()
    assert b"changed" in project.read
    assert tracker.uncovered == {}
    assert changes(tracker) == {}


def test_a_directory_of_new_files_that_goes_leaves_nothing_to_be_read(project: Project) -> None:
    tracker, _ = project.begun(first=_ALL)
    contents = _make(project)
    tracker.collect(_PORTION)

    (project.root / "made").rename(project.root.parent / f"{project.root.name} elsewhere")

    rows = _made(tracker.collect())
    assert rows.keys() == contents.keys()
    assert {after for _, after in rows.values()} == {None}
    assert len(project.read) == _FIRST
    assert tracker.uncovered == {}


def test_new_files_that_nobody_told_of_yet_are_told_whole_once_they_were_read(project: Project) -> None:
    tracker, _ = project.begun(first=_ALL)
    contents = _make(project)
    tracker.look_again(_PORTION)

    rows = _made(tracker.collect())

    assert rows == {path: (None, digest(text)) for path, text in contents.items()}
    assert tracker.take_completed() == []


def test_who_made_many_files_may_remove_them_without_reading_them(project: Project) -> None:
    tracker, _ = project.begun(first=_ALL)
    _make(project)
    rows = _made(tracker.collect(_PORTION))
    made = next(path for path, (_, after) in rows.items() if after == "unread")

    assert tracker.has(made, os.lstat(project.root / made))
    assert len(project.read) == _FIRST
    (project.root / made).write_text("changed")
    assert not tracker.has(made, os.lstat(project.root / made))


def test_a_manifest_never_says_that_a_file_is_known_to_be_unread(project: Project) -> None:
    tracker, rows = project.begun(first=_ALL)
    contents = _make(project)
    rows += tracker.collect(_PORTION)
    manifest = json.dumps([[path, after] for path, _, after in rows]).encode() + b"\n"

    tracker, rows = project.begun(manifest, first=_ALL)

    assert [after for _, after in _made(rows).values()].count("unread") == 0
    assert changes(tracker) == {}
    assert tracker.uncovered == {}
    assert len(_made(rows)) == len(contents) - _FIRST
