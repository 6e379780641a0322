"""What is seen of a project, with the kernel's hints where to look and without them."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.hands.checkpoints.putting import Putter
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import ScanLimits
from kaa.hands.checkpoints.states import State, digest_of
from kaa.hands.checkpoints.tracker import Tracker
from kaa.hands.inotify import Inotify

Make = Callable[..., Tracker]


@pytest.fixture(params=["hints", "no hints"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes a tracker of a project in the test's folder."""
    inotify = Inotify() if request.param == "hints" else None

    def tracker(max_files: int = 1000, max_bytes: int = 1000_000) -> Tracker:
        return Tracker(Roots([str(tmp_path)]), inotify, ScanLimits(max_files, max_bytes), lambda _: None)

    yield tracker
    if inotify is not None:
        inotify.close()


def begun(tracker: Tracker) -> Tracker:
    """The same when it has looked at everything."""
    for _ in tracker.begin(b""):
        pass
    tracker.take_changes()
    return tracker


def changes(tracker: Tracker) -> dict[str, tuple[object, object]]:
    """Digests before and after of what changed; kinds for all but files. Rows may also only renew a stamp."""
    rows = [(str(path), _shown(before), _shown(after)) for path, before, after in tracker.collect()]
    return {path: (before, after) for path, before, after in rows if before != after}


def _shown(state: object) -> object:
    assert state is None or isinstance(state, list)
    return state and (state[1] or state[0])


def digest(text: str) -> str:
    return digest_of(text.encode())


def test_what_is_very_deep_is_left_out(tmp_path: Path, make: Make) -> None:
    deep = tmp_path / "/".join(["d"] * 101)
    deep.mkdir(parents=True)
    tracker = begun(make())

    tracker.note(str(deep / "new"))
    (deep / "new").write_text("new")
    (deep.parent / "new").write_text("new")

    assert changes(tracker) == {"/".join(["d"] * 100) + "/new": (None, digest("new"))}
    assert tracker.uncovered["deep"] == 1


def test_what_was_there_is_known_where_ignore_files_leave_it_out(tmp_path: Path, make: Make) -> None:
    (tmp_path / ".gitignore").write_text("ignored/\n")
    (tmp_path / "ignored").mkdir()
    (tmp_path / "ignored" / "file").write_text("mine")
    tracker = begun(make())

    tracker.note(str(tmp_path / "ignored" / "file"))
    tracker.note(str(tmp_path / "ignored" / "new"))
    (tmp_path / "ignored" / "file").write_text("yours")
    (tmp_path / "ignored" / "new").write_text("new")

    assert changes(tracker) == {
        "ignored/file": (digest("mine"), digest("yours")),
        "ignored/new": (None, digest("new")),
    }


def test_what_comes_and_goes_uses_nothing_up(tmp_path: Path, make: Make) -> None:
    (tmp_path / "a").write_text("a")
    tracker = begun(make(max_files=3, max_bytes=100))

    for number in range(10):
        (tmp_path / "temporary").write_text(f"{number}" * 60)
        changes(tracker)
        (tmp_path / "temporary").unlink()
        changes(tracker)
    (tmp_path / "b").write_text("b" * 50)

    assert changes(tracker) == {"b": (None, digest("b" * 50))}


def test_a_directory_that_went_while_everything_was_looked_at_can_come_again(tmp_path: Path, make: Make) -> None:
    (tmp_path / "d").mkdir()
    for number in range(300):
        (tmp_path / f"{number}").touch()
    tracker = make()

    looking = tracker.begin(b"")
    next(looking)
    shutil.rmtree(tmp_path / "d")
    for _ in looking:
        pass
    tracker.take_changes()
    changes(tracker)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "file").write_text("x")

    assert changes(tracker) == {"d": (None, "directory"), "d/file": (None, digest("x"))}


def test_what_was_read_right_after_it_was_written_is_not_to_be_read_again(tmp_path: Path, make: Make) -> None:
    tracker = make()
    (tmp_path / "file").write_text("x")

    begun(tracker)

    assert tracker.extent() == (0, 0)


def test_what_is_beyond_the_limits_is_counted_and_left_out(tmp_path: Path, make: Make) -> None:
    for name in "abcd":
        (tmp_path / name).write_text(name)

    tracker = make(max_files=3)
    for _ in tracker.begin(b""):
        pass

    assert len([path for path, *_ in tracker.take_changes() if path != "."]) == 3
    assert tracker.uncovered == {"files": 1}


def test_a_file_that_went_while_nobody_looked_is_new_when_it_is_made_again(tmp_path: Path, make: Make) -> None:
    file = tmp_path / "file"
    file.write_text("the same")
    before = make()
    rows = [[path, after] for path, _, after in _rows_of_all(before)]
    file.unlink()
    tracker = make()

    steps = tracker.begin(json.dumps(rows).encode())
    tracker.note(str(file))  # asked for before the first step
    file.write_text("the same")
    for _ in steps:
        pass
    at_first = tracker.take_changes()

    assert [(path, after) for path, _, after in at_first] == [("file", None)]
    assert changes(tracker) == {"file": (None, digest("the same"))}


def _rows_of_all(tracker: Tracker) -> list[list[object]]:
    for _ in tracker.begin(b""):
        pass
    return tracker.take_changes()


def test_a_directory_whose_names_cannot_be_looked_at_leaves_the_others_covered(tmp_path: Path, make: Make) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "file").write_text("x")
    (tmp_path / "open").write_text("one")
    tmp_path.chmod(0o755)
    (tmp_path / "closed").chmod(0o444)  # its names can be listed and no more
    tracker = make()
    former = os.geteuid()
    if former == 0:
        os.seteuid(54321)  # owns nothing on any machine
    try:
        begun(tracker)
        assert tracker.uncovered == {"unreadable": 1}
    finally:
        os.seteuid(former)
        (tmp_path / "closed").chmod(0o755)

    (tmp_path / "open").write_text("two")

    assert changes(tracker)["open"] == (digest("one"), digest("two"))


def test_the_temporary_files_of_writes_are_no_files_of_the_project(tmp_path: Path, make: Make) -> None:
    temporary = tmp_path / ".kaa-0123456789abcdef.tmp"
    temporary.touch()
    (tmp_path / ".kaa-0123456789abcdef-1f.tmp").touch()
    tracker = begun(make())

    temporary.unlink()
    (tmp_path / ".kaa-mine.tmp").write_text("mine")

    assert changes(tracker) == {".kaa-mine.tmp": (None, digest("mine"))}


def _replaced(path: Path) -> None:
    path.with_name("new").write_text("mine")
    path.with_name("new").rename(path)


@pytest.mark.parametrize(
    "change",
    [lambda path: path.write_text("mine"), _replaced, lambda path: path.chmod(0o600), lambda path: path.unlink()],
    ids=["written", "replaced", "chmod", "deleted"],
)
def test_what_happens_to_a_file_that_was_just_put_back_is_seen(
    tmp_path: Path, make: Make, change: Callable[[Path], object]
) -> None:
    file = tmp_path / "file"
    file.write_text("changed")
    file.chmod(0o644)
    tracker = begun(make())
    (expected,), _ = tracker.states(["file"])
    target = State("file", digest("kept"), 0o644, 4)
    putter = Putter(tracker.roots, "0123456789abcdef")
    putter.put("file", tracker.with_stamp("file", expected), target, b"kept")
    putter.close()
    tracker.expect("file", target)

    change(file)
    (row,) = tracker.collect()
    (now,), _ = tracker.states(["file"])

    assert row[2] == now if now is None else isinstance(row[2], list) and row[2][:-1] == [*now[:-1]]
    assert now is None or not now.same_as(target)


def test_what_was_put_back_is_the_only_change_there_is(tmp_path: Path, make: Make) -> None:
    (tmp_path / "file").write_text("changed")
    tracker = begun(make())
    target = State("file", digest("kept"), 0o644, 4)
    putter = Putter(tracker.roots, "0123456789abcdef")
    (expected,), _ = tracker.states(["file"])
    putter.put("file", expected, target, b"kept")
    putter.close()
    tracker.expect("file", target)

    assert changes(tracker) == {"file": (digest("changed"), digest("kept"))}
    assert changes(tracker) == {}
