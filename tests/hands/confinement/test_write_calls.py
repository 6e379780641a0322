"""When commands in the background may have written, as their attendants note it."""

import hashlib
import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kaa.hands.confinement.write_calls import CallNotes, Moment, WriteCalls
from tests.support.patience import HANG_SECONDS


@pytest.fixture
def calls() -> Iterator[WriteCalls]:
    calls = WriteCalls()
    yield calls
    calls.close()


@contextmanager
def _waiting_thread() -> Iterator[int]:
    """A thread that waits in a call that is not noted."""
    reading, writing = os.pipe()
    thread = threading.Thread(target=lambda: select.select([reading], [], []))
    thread.start()
    try:
        assert thread.native_id is not None
        yield thread.native_id
    finally:
        os.close(writing)
        thread.join(HANG_SECONDS)
        os.close(reading)


@contextmanager
def _writing_thread(folder: Path) -> Iterator[int]:
    """A thread that is held up while it opens a file for writing."""
    path = folder / "fifo"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: os.close(os.open(path, os.O_WRONLY)))
    thread.start()
    try:
        assert thread.native_id is not None
        yield thread.native_id
    finally:
        os.close(os.open(path, os.O_RDONLY))
        thread.join(HANG_SECONDS)


@contextmanager
def _running_thread() -> Iterator[int]:
    """A thread that computes for some time, and needs no lock of Python's for it."""
    thread = threading.Thread(target=lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", 400_000))
    thread.start()
    assert thread.native_id is not None
    yield thread.native_id
    thread.join(HANG_SECONDS)


def _look_once(notes: CallNotes) -> None:
    time.sleep((notes.seconds_left() or 0) + 0.001)
    notes.look()


def _look_until_over(notes: CallNotes, calls: WriteCalls) -> Moment | None:
    deadline = time.monotonic() + HANG_SECONDS
    while (since := calls.over_since()) is None and time.monotonic() < deadline:
        time.sleep(notes.seconds_left() or 0)
        notes.look()
    return since


def test_without_a_call_all_is_over(calls: WriteCalls) -> None:
    assert calls.over_since() == Moment(0, 0)
    calls.next_place()
    assert calls.over_since() == Moment(0, 0)


def test_a_call_is_over_when_its_thread_waits_for_something_else(calls: WriteCalls) -> None:
    notes = CallNotes(calls, calls.next_place())

    with _waiting_thread() as thread:
        before = Moment.now()
        notes.note(thread)
        assert calls.over_since() is None
        since = _look_until_over(notes, calls)

    assert since is not None
    assert since > before


def test_a_call_is_over_when_its_thread_is_gone(calls: WriteCalls) -> None:
    notes = CallNotes(calls, calls.next_place())
    with _waiting_thread() as thread:
        pass

    notes.note(thread)

    assert _look_until_over(notes, calls) is not None


def test_a_call_of_a_thread_that_runs_is_not_over(calls: WriteCalls) -> None:
    notes = CallNotes(calls, calls.next_place())

    with _running_thread() as thread:
        notes.note(thread)
        _look_once(notes)
        assert calls.over_since() is None
    assert _look_until_over(notes, calls) is not None


def test_a_call_that_is_held_up_is_not_over(calls: WriteCalls, tmp_path: Path) -> None:
    notes = CallNotes(calls, calls.next_place())

    with _writing_thread(tmp_path) as thread:
        notes.note(thread)
        for _ in range(3):
            _look_once(notes)
        assert calls.over_since() is None


def test_all_slots_count(calls: WriteCalls, tmp_path: Path) -> None:
    first, second = (CallNotes(calls, calls.next_place()) for _ in range(2))

    with _waiting_thread() as waiting, _writing_thread(tmp_path) as writing:
        first.note(waiting)
        second.note(writing)
        _look_once(first)
        assert calls.over_since() is None
    second.close()

    assert _look_until_over(first, calls) is not None
