"""An ordinary user's files in directories that a command closes are not gone: they are seen and put back."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.hands.checkpoints.backlog import EVERYTHING, Portion
from kaa.hands.checkpoints.putting import NotAsExpectedError, Putter, remove_leftovers
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import ScanLimits
from kaa.hands.checkpoints.states import FRESH_NS, State, digest_of, look
from kaa.hands.checkpoints.tracker import Tracker
from kaa.hands.inotify import Inotify
from tests.support.ordinary import as_ordinary_user, open_directory

Begin = Callable[..., Tracker]
_CLOSED_DIRECTORY = [0o300, 0o100, 0o000, 0o200, 0o400]
_CLOSED_FILE = [0o200, 0o000]
_SOME = ("one", "two", "three")


@pytest.fixture
def project() -> Iterator[Path]:
    """Give a folder with a file in a directory, both of the ordinary user."""
    with open_directory() as place:
        with as_ordinary_user():
            (place / "src").mkdir()
            (place / "src").chmod(0o755)
            _write(place / "src" / "file", "mine")
        yield place


@pytest.fixture
def kept() -> list[bytes]:
    """Give the contents that trackers have kept, so far."""
    return []


@pytest.fixture(params=["hints", "no hints"])
def begin(request: pytest.FixtureRequest, project: Path, kept: list[bytes]) -> Iterator[Begin]:
    """Makes a tracker of the project that has looked at everything."""
    opened: list[Inotify] = []

    def begin(first: Portion = EVERYTHING) -> Tracker:
        inotify = Inotify() if request.param == "hints" else None
        if inotify is not None:
            opened.append(inotify)
        tracker = Tracker(Roots([str(project)]), inotify, ScanLimits(1000, 1000_000), kept.append, first)
        for _ in tracker.begin(b""):
            pass
        tracker.take_changes()
        return tracker

    with as_ordinary_user():
        yield begin
    for inotify in opened:
        inotify.close()


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.write_text(text)
    path.chmod(mode)


def _write_some(directory: Path, mode: int) -> None:
    """Write files, and wait until their times tell whether they change."""
    for name in _SOME:
        _write(directory / name, name, mode)
    newest = max(path.stat().st_ctime_ns for path in directory.iterdir())
    while time.time_ns() < newest + 2 * FRESH_NS:
        time.sleep(0.01)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _changes(tracker: Tracker) -> dict[str, tuple[object, object]]:
    """Give digest and mode before and after of what changed. Rows may also only renew a stamp."""
    rows = [(str(path), _shown(before), _shown(after)) for path, before, after in tracker.collect()]
    return {path: (before, after) for path, before, after in rows if before != after}


def _shown(state: object) -> object:
    assert state is None or isinstance(state, list)
    return state and (state[1] or state[0], state[2])


def _file(text: str, mode: int = 0o644) -> tuple[str, int]:
    return digest_of(text.encode()), mode


def _state(text: str, mode: int = 0o644) -> State:
    return State("file", digest_of(text.encode()), mode, len(text))


@pytest.mark.parametrize("mode", _CLOSED_DIRECTORY)
def test_what_changes_in_a_directory_that_is_then_closed_is_seen(
    project: Path, begin: Begin, kept: list[bytes], mode: int
) -> None:
    _write(project / "src" / "gone", "gone")
    tracker = begin()

    _write(project / "src" / "file", "changed")
    (project / "src" / "gone").unlink()
    (project / "src").chmod(mode)

    assert _changes(tracker) == {
        "src": (("directory", 0o755), ("directory", mode)),
        "src/file": (_file("mine"), _file("changed")),
        "src/gone": (_file("gone"), None),
    }
    assert b"changed" in kept
    assert _mode(project / "src") == mode


def test_what_changes_in_a_directory_that_was_closed_before_is_seen(project: Path, begin: Begin) -> None:
    (project / "src").chmod(0o300)
    tracker = begin()

    _write(project / "src" / "file", "changed")

    assert _changes(tracker) == {"src/file": (_file("mine"), _file("changed"))}
    assert _changes(tracker) == {}
    assert _mode(project / "src") == 0o300


def test_a_new_closed_directory_is_seen_with_what_is_in_it(project: Path, begin: Begin) -> None:
    tracker = begin()

    (project / "new").mkdir()
    _write(project / "new" / "file", "new")
    (project / "new").chmod(0)

    assert _changes(tracker) == {"new": (None, ("directory", 0)), "new/file": (None, _file("new"))}


@pytest.mark.parametrize("mode", _CLOSED_FILE)
def test_a_file_that_is_closed_is_read(project: Path, begin: Begin, kept: list[bytes], mode: int) -> None:
    tracker = begin()

    _write(project / "src" / "file", "changed", mode)

    assert _changes(tracker) == {"src/file": (_file("mine"), _file("changed", mode))}
    assert _changes(tracker) == {}
    assert b"changed" in kept
    assert tracker.uncovered == {}
    assert _mode(project / "src" / "file") == mode


@pytest.mark.parametrize("mode", _CLOSED_DIRECTORY)
def test_a_project_that_is_closed_itself_is_seen(project: Path, begin: Begin, mode: int) -> None:
    project.chmod(0o755)
    tracker = begin()

    _write(project / "src" / "file", "changed")
    project.chmod(mode)
    changes = _changes(tracker)
    project_now = _mode(project)
    project.chmod(0o755)

    assert changes == {
        ".": (("directory", 0o755), ("directory", mode)),
        "src/file": (_file("mine"), _file("changed")),
    }
    assert project_now == mode


def test_a_project_that_was_closed_before_is_seen(project: Path, begin: Begin) -> None:
    project.chmod(0o300)

    tracker = begin()
    states, unknown = tracker.states([".", "src/file", "src/none"])

    assert states[0] is not None
    assert (states[0].mode, states[1:], unknown) == (0o300, [states[1], None], [])
    assert states[1] is not None
    assert states[1].same_as(_state("mine"))


def test_a_directory_that_another_user_has_closed_is_not_gone(project: Path, begin: Begin) -> None:
    if os.getuid() != 0:
        pytest.skip("a directory of another user takes root")
    tracker = begin()
    os.seteuid(0)
    try:
        os.chown(project / "src", 0, 0)
        (project / "src").chmod(0o700)
    finally:
        os.seteuid(project.stat().st_uid)

    assert _changes(tracker) == {"src": (("directory", 0o755), ("directory", 0o700))}
    assert tracker.states(["src/file", "none/file"]) == ([None, None], ["src/file"])

    os.seteuid(0)
    try:
        _write(project / "src" / "file", "changed")
        (project / "src").chmod(0o755)
    finally:
        os.seteuid(project.stat().st_uid)
    assert _changes(tracker)["src/file"] == (_file("mine"), _file("changed"))


def test_a_closed_file_that_is_read_later_has_not_changed(project: Path, begin: Begin, kept: list[bytes]) -> None:
    _write_some(project / "src", 0o200)
    tracker = begin(Portion(1, 1000))

    for _ in tracker.read_more(EVERYTHING, 0):
        pass

    assert _changes(tracker) == {}
    assert tracker.uncovered == {}
    assert {name.encode() for name in _SOME} <= {*kept}


def test_new_closed_files_do_not_wait(project: Path, begin: Begin, kept: list[bytes]) -> None:
    tracker = begin()
    _write_some(project / "src", 0o200)

    rows = tracker.collect(Portion(1, 1000))

    assert {str(path): _shown(after) for path, _, after in rows if str(path) != "src/file"} == {
        f"src/{name}": _file(name, 0o200) for name in _SOME
    }
    assert {b"one", b"two", b"three"} <= {*kept}


@pytest.mark.parametrize("asked", ["to write", "to restore"])
def test_a_closed_file_that_was_looked_at_before_it_was_read_is_known(
    project: Path, begin: Begin, kept: list[bytes], asked: str
) -> None:
    _write_some(project / "src", 0o200)
    tracker = begin(Portion(1, 1000))

    for name in _SOME:
        if asked == "to write":
            tracker.note(str(project / "src" / name))
        else:
            tracker.states([f"src/{name}"])
        _write(project / "src" / name, "changed", 0o200)

    assert _changes(tracker) == {f"src/{name}": (_file(name, 0o200), _file("changed", 0o200)) for name in _SOME}
    assert {name.encode() for name in _SOME} <= {*kept}


def test_new_files_wait_to_be_read_while_another_user_has_closed_their_directory(
    project: Path, begin: Begin, kept: list[bytes]
) -> None:
    if os.getuid() != 0:
        pytest.skip("a directory of another user takes root")
    tracker = begin()
    _write_some(project / "src", 0o644)
    tracker.collect(Portion(1, 1000))
    os.seteuid(0)
    try:
        os.chown(project / "src", 0, 0)
        (project / "src").chmod(0o700)
    finally:
        os.seteuid(project.stat().st_uid)

    assert _changes(tracker) == {"src": (("directory", 0o755), ("directory", 0o700))}
    assert tracker.take_completed() == []
    assert tracker.uncovered["unread"] == 2

    os.seteuid(0)
    try:
        (project / "src").chmod(0o755)
    finally:
        os.seteuid(project.stat().st_uid)
    assert _changes(tracker) == {"src": (("directory", 0o700), ("directory", 0o755))}
    assert len(tracker.take_completed()) == 2
    assert tracker.uncovered == {}
    assert {name.encode() for name in _SOME} <= {*kept}


def test_a_directory_may_be_closed_while_it_is_open(project: Path) -> None:
    with as_ordinary_user():
        descriptor = os.open(project / "src", os.O_RDONLY)
        (project / "src").chmod(0o600)

        seen = look(descriptor, "file")

        assert seen.content == b"mine"
        assert _mode(project / "src") == 0o600
        os.close(descriptor)


@pytest.mark.parametrize("mode", [*_CLOSED_DIRECTORY, 0o500])
def test_files_in_a_closed_directory_are_put_back(project: Path, mode: int) -> None:
    with as_ordinary_user():
        (project / "src").chmod(mode)
        putter = Putter(Roots([str(project)]), "token")

        putter.put("src/file", _state("mine"), _state("former"), b"former")
        putter.put("src/new", None, _state("new"), b"new")
        putter.put("src/new", _state("new"), None, b"")
        with pytest.raises(NotAsExpectedError):
            putter.put("src/file", None, _state("x"), b"x")
        putter.close()
        assert _mode(project / "src") == mode
        (project / "src").chmod(0o755)

        assert {path.name: path.read_text() for path in (project / "src").iterdir()} == {"file": "former"}


@pytest.mark.parametrize("mode", _CLOSED_FILE)
def test_a_closed_file_is_put_back(project: Path, mode: int) -> None:
    with as_ordinary_user():
        _write(project / "src" / "file", "closed", mode)
        putter = Putter(Roots([str(project)]), "token")

        with pytest.raises(NotAsExpectedError):
            putter.put("src/file", _state("other", mode), _state("former"), b"former")
        assert _mode(project / "src" / "file") == mode
        putter.put("src/file", _state("closed", mode), _state("former"), b"former")
        putter.close()

        assert (project / "src" / "file").read_text() == "former"


@pytest.mark.parametrize("mode", [0o300, 0o000, 0o500])
@pytest.mark.parametrize("target", [0o700, 0o755])
def test_a_closed_project_gets_its_mode_back(project: Path, mode: int, target: int) -> None:
    with as_ordinary_user():
        roots = Roots([str(project)])
        project.chmod(mode)
        putter = Putter(roots, "token")

        putter.put("new", None, _state("new"), b"new")
        putter.put(".", State("directory", mode=mode), State("directory", mode=target), b"")
        putter.close()

        assert _mode(project) == target
        assert (project / "new").read_text() == "new"


def test_another_users_closed_directory_is_not_taken_for_changed(project: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("a directory of another user takes root")
    os.chown(project / "src", 0, 0)
    (project / "src").chmod(0o700)
    with as_ordinary_user():
        putter = Putter(Roots([str(project)]), "token")

        with pytest.raises(PermissionError):
            putter.put("src/file", _state("mine"), _state("former"), b"former")

        putter.close()


def test_temporary_files_are_removed_from_a_closed_directory(project: Path) -> None:
    with as_ordinary_user():
        _write(project / "src" / ".kaa-dead-1.tmp", "")
        (project / "src").chmod(0o300)

        remove_leftovers(Roots([str(project)]), "dead", ["src"])

        (project / "src").chmod(0o755)
        assert [path.name for path in (project / "src").iterdir()] == ["file"]
