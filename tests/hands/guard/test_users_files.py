"""Which files the guard takes for the user's."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.hands.confinement.write_calls import WriteCalls
from kaa.hands.guard.users_files import UsersFiles
from kaa.hands.guard.watcher import Guard
from kaa.hands.inotify import Inotify


@pytest.fixture
def calls() -> Iterator[WriteCalls]:
    calls = WriteCalls()
    yield calls
    calls.close()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    """A directory in which files were made before calm times; skips where the file system does not know births."""
    (tmp_path / "old").touch()
    (tmp_path / "old-directory").mkdir()
    time.sleep(0.05)  # the clock of files is coarse
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def _included(files: UsersFiles, directory: int, path: str) -> bool:
    calm = files.calm_since()
    assert calm is not None
    return files.includes(directory, path, calm)


def _calm(calls: WriteCalls) -> UsersFiles:
    files = UsersFiles(calls)
    files.begin()
    time.sleep(0.05)
    return files


def test_what_was_born_in_calm_times_is_the_users(tmp_path: Path, calls: WriteCalls, directory: int) -> None:
    files = _calm(calls)
    (tmp_path / "new").touch()
    (tmp_path / "sub" / "below").mkdir(parents=True)
    (tmp_path / "sub" / "below" / "file").touch()

    if not _included(files, directory, "new"):
        pytest.skip("the file system of temporary files does not say when a file was born")
    assert _included(files, directory, "sub")
    assert _included(files, directory, "sub/below/file")


def test_what_is_older_or_has_another_name_is_not(tmp_path: Path, calls: WriteCalls, directory: int) -> None:
    files = _calm(calls)
    (tmp_path / "old").rename(tmp_path / "renamed")
    (tmp_path / "linked").touch()
    (tmp_path / "link").hardlink_to(tmp_path / "linked")
    (tmp_path / "symlink").symlink_to("linked")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "old-directory" / "new").touch()
    (tmp_path / "new-directory").mkdir()
    (tmp_path / "renamed").rename(tmp_path / "new-directory" / "old")

    names = ("new-directory", "linked", "link", "symlink", "pipe", "old-directory", "missing", "symlink/x")
    assert [name for name in names if _included(files, directory, name)] == []


def test_calm_ends_with_a_call_and_with_other_activities(calls: WriteCalls) -> None:
    place = calls.next_place()
    files = UsersFiles(calls)
    assert files.calm_since() is None

    files.begin()
    first = files.calm_since()
    assert first is not None
    calls.begin(place)
    assert files.calm_since() is None
    calls.end(place)
    second = files.calm_since()
    assert second is not None
    assert second > first
    files.end()
    assert files.calm_since() is None


def test_without_notes_nothing_is_the_users() -> None:
    files = UsersFiles(None)
    files.begin()

    assert files.calm_since() is None


def test_times_of_a_clock_that_was_set_prove_nothing(calls: WriteCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    files = UsersFiles(calls)
    files.begin()
    real = time.time_ns

    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)

    assert files.calm_since() is None


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A protected file below the project, where no mount holds it."""
    path = tmp_path / "sub" / ".idea" / "settings.xml"
    path.parent.mkdir(parents=True)
    path.write_text("first")
    return path


@pytest.fixture
def guard(tmp_path: Path, settings: Path, calls: WriteCalls) -> Iterator[Guard]:
    """A guard of the project while only commands in the background run."""
    handler = signal.getsignal(signal.SIGIO)
    guard = Guard([str(tmp_path)], True, Inotify(), users_files=UsersFiles(calls))
    guard.begin(adopts=True)
    guard.discern(True)
    yield guard
    guard.close()
    signal.signal(signal.SIGIO, handler)


def _write_something(calls: WriteCalls) -> None:
    """What is noted of a command that writes other files."""
    place = calls.next_place()
    calls.begin(place)
    calls.end(place)


def test_a_file_that_nobody_has_open_is_changed_by_the_user(guard: Guard, settings: Path, calls: WriteCalls) -> None:
    for content in ("one", "two"):
        _write_something(calls)
        guard.look()
        settings.write_text(content)
        guard.catch_up()
        settings.write_text(f"{content} and more")
        guard.catch_up()

    assert not guard.findings
    assert settings.read_text() == "two and more"


def test_a_file_that_was_open_for_writing_is_not(guard: Guard, settings: Path, calls: WriteCalls) -> None:
    with settings.open("r+") as file:
        _write_something(calls)
        guard.look()
        file.write("evil")
        file.flush()
        guard.catch_up()

    assert guard.findings
    assert settings.read_text() == "first"


def test_a_file_that_may_have_been_opened_since_is_not(guard: Guard, settings: Path, calls: WriteCalls) -> None:
    guard.look()
    _write_something(calls)

    settings.write_text("evil")
    guard.catch_up()

    assert guard.findings
    assert settings.read_text() == "first"


def test_a_file_that_was_changed_before_it_was_looked_at_is_not(
    guard: Guard, settings: Path, calls: WriteCalls
) -> None:
    _write_something(calls)
    settings.write_text("evil")

    guard.look()

    assert guard.findings
    assert settings.read_text() == "first"
