"""Sockets in a folder of the user's own: who can listen and connect there, and what is left of processes that ended."""

import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kaa.host.private_sockets import (
    NobodyListensError,
    NotAcceptedError,
    PrivateSocketError,
    PrivateSockets,
    peer_of,
)

_CONNECT = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as sock:
    try:
        sock.connect(sys.argv[1])
    except PermissionError:
        print("refused")
    else:
        print("connected")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Deep, so that the path of a socket is longer than its address may be."""
    return tmp_path / ("deep" * 20) / "run"


@pytest.fixture
def sockets(folder: Path) -> PrivateSockets:
    return PrivateSockets(folder)


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "one.sock"


def test_one_connects_to_the_other(sockets: PrivateSockets) -> None:
    listener = sockets.listen("one")

    with listener.sock, sockets.connect("one") as client:
        server, _ = listener.sock.accept()
        with server:
            server.sendall(b"hello")

            assert client.recv(5) == b"hello"
            assert peer_of(client) == peer_of(server) == (os.getpid(), os.geteuid())


def test_folder_and_socket_are_the_users_alone(sockets: PrivateSockets, folder: Path, file: Path) -> None:
    with sockets.listen("one").sock:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_cannot_connect() -> None:
    top = Path(tempfile.mkdtemp())  # those of pytest are closed to others above
    sockets = PrivateSockets(top / "run")
    try:
        listener = sockets.listen("one")
        with listener.sock:
            top.chmod(0o755)
            address = str(top / "run" / "one.sock")
            done = subprocess.run(
                [sys.executable, "-I", "-c", _CONNECT, address], capture_output=True, text=True, check=True
            )
            assert done.stdout == "refused\n"
            listener.sock.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.sock.accept()
        sockets.remove(listener)
    finally:
        (top / "run").rmdir()
        top.rmdir()


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o777])
def test_a_folder_that_others_can_enter_is_refused(sockets: PrivateSockets, folder: Path, mode: int) -> None:
    folder.mkdir(parents=True)
    folder.chmod(mode)

    with pytest.raises(PrivateSocketError, match="is not only yours"):
        sockets.listen("one")
    with pytest.raises(PrivateSocketError, match="is not only yours"):
        sockets.connect("one")


def test_a_link_instead_of_the_folder_is_refused(sockets: PrivateSockets, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(0o700)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(PrivateSocketError):
        sockets.listen("one")
    with pytest.raises(PrivateSocketError):
        sockets.connect("one")


def test_a_link_instead_of_the_socket_is_refused(sockets: PrivateSockets, file: Path) -> None:
    with sockets.listen("two").sock:
        file.symlink_to("two.sock")

        with pytest.raises(PrivateSocketError, match="not a socket of yours"):
            sockets.connect("one")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_socket_of_another_user_is_refused(sockets: PrivateSockets, file: Path) -> None:
    with sockets.listen("one").sock:
        os.chown(file, 65534, 65534)

        with pytest.raises(PrivateSocketError, match="not a socket of yours"):
            sockets.connect("one")


def test_nobody_listens(sockets: PrivateSockets) -> None:
    with pytest.raises(NobodyListensError):
        sockets.connect("one")  # there is no folder

    sockets.listen("one").sock.close()

    with pytest.raises(NobodyListensError):
        sockets.connect("one")  # the file is still there
    with pytest.raises(NobodyListensError):
        sockets.connect("two")


def test_one_that_accepts_nobody_does_not_hold_us_up(sockets: PrivateSockets) -> None:
    waiting: list[socket.socket] = []

    def crowd() -> None:
        while True:
            waiting.append(sockets.connect("one"))

    with sockets.listen("one").sock:
        with pytest.raises(NotAcceptedError):
            crowd()
        for client in waiting:
            client.close()


def test_what_killed_processes_left_is_removed(sockets: PrivateSockets, folder: Path, file: Path) -> None:
    sockets.listen("one").sock.close()
    with sockets.listen("two").sock:
        (folder / "note.txt").touch()
        (folder / "three.sock").touch()

        sockets.clear_away()

        assert sorted(os.listdir(folder)) == ["note.txt", "three.sock", "two.sock"]


def test_the_file_of_a_later_process_stays(sockets: PrivateSockets, file: Path) -> None:
    before = sockets.listen("one")
    before.sock.close()
    with sockets.listen("one").sock:
        sockets.remove(before)

        with sockets.connect("one"):
            pass
    assert file.exists()
