"""Commands that talk with another kaa: what they say of one that is of another version, gone, or no kaa."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from kaa.frontends.live.client import SessionConnection
from kaa.frontends.live.errors import LiveError
from kaa.frontends.live.wire import Stop, socket_name, sockets_of
from kaa.shell.home import Home

_HELLO = b'{"type":"hello","protocol":1,"version":"1.0","sessionId":"s","newer":true}\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@contextmanager
def answering(home: Home, session: Path, *lines: bytes) -> Iterator[None]:
    """A process that says these lines, whatever it is asked, and closes the connection."""
    listener = sockets_of(home).listen(socket_name(session))

    def serve() -> None:
        connection, _ = listener.sock.accept()
        with connection:
            connection.sendall(b"".join(lines))
            connection.recv(4096)

    with listener.sock:
        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([b'{"type":"hello","protocol":2,"version":"9.0"}\n'], "is kaa 9.0, which this version cannot talk with"),
        ([b'{"type":"done","number":1}\n'], "is not a kaa"),
        ([b'{"type":"refused","error":"16 clients are connected already"}\n'], "16 clients"),
        ([b"SSH-2.0-OpenSSH_9.6\n"], "does not understand"),
        ([b"\xff\n"], "does not understand"),
    ],
)
def test_what_it_says_first_is_checked(home: Home, session: Path, lines: list[bytes], problem: str) -> None:
    with answering(home, session, *lines), pytest.raises(LiveError, match=problem):
        SessionConnection.to(home, session, os.getpid())


def test_one_that_is_still_starting_is_waited_for(home: Home, session: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(SessionConnection.to, home, session, os.getpid(), until_it_listens=60)
        time.sleep(0.1)  # so that nobody listens when it is tried first
        with answering(home, session, _HELLO), coming.result() as connection:
            assert connection.hello.session_id == "s"


def test_one_that_ends_meanwhile_is_told(home: Home, session: Path) -> None:
    with (
        answering(home, session, _HELLO),
        SessionConnection.to(home, session, os.getpid()) as connection,
        pytest.raises(LiveError, match="has ended, or closed the connection"),
    ):
        connection.ask(Stop)


def test_what_is_said_besides_is_passed_over(home: Home, session: Path) -> None:
    lines = [_HELLO, b'{"type":"noticed","text":"x"}\n', b'{"type":"done","number":7}\n']
    lines.append(b'{"type":"done","number":1,"text":"stopped"}\n')

    with answering(home, session, *lines), SessionConnection.to(home, session, os.getpid()) as connection:
        assert connection.hello.session_id == "s"
        assert connection.ask(Stop) == "stopped"


def test_one_that_says_nothing_is_told(home: Home, session: Path) -> None:
    listener = sockets_of(home).listen(socket_name(session))
    with listener.sock, pytest.raises(LiveError, match="does not answer: it was stopped or hangs"):
        SessionConnection.to(home, session, os.getpid(), seconds=0.05)


def test_another_process_in_its_place_is_refused(home: Home, session: Path) -> None:
    listener = sockets_of(home).listen(socket_name(session))
    with listener.sock, pytest.raises(LiveError, match="in the place of process 1,"):
        SessionConnection.to(home, session, 1)
