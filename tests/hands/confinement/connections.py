"""Run as a program: connects in all the ways that programs do and says what came of it, by name.

With a connect broker or without one, the output must be the same. The argument is a directory for sockets.
"""

import ctypes
import errno
import json
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_libc = ctypes.CDLL(None, use_errno=True)
_NETLINK = 16
_SEND_TIMEOUT = 21
_CASES: dict[str, Callable[[], object]] = {}


def case(act: Callable[[], object]) -> Callable[[], object]:
    _CASES[act.__name__] = act
    return act


def raw(sock: int, address: bytes | int, length: int | None = None) -> str:
    """`connect` as it is, without what Python makes of it."""
    pointer = ctypes.c_char_p(address) if isinstance(address, bytes) else ctypes.c_void_p(address)
    if length is None:
        assert isinstance(address, bytes)
        length = len(address)
    return "ok" if _libc.connect(sock, pointer, ctypes.c_int(length)) == 0 else errno.errorcode[ctypes.get_errno()]


def unix(name: bytes) -> bytes:
    return struct.pack("=H", socket.AF_UNIX) + name


def inet(port: int, host: str = "127.0.0.1") -> bytes:
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)


def listening(kind: int = socket.SOCK_STREAM, backlog: int = 128) -> tuple[socket.socket, str]:
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(tempfile.mktemp(dir="."))
    server.listen(backlog)
    return server, server.getsockname()


def full() -> tuple[socket.socket, str, list[socket.socket]]:
    """A server that takes no more connections for now."""
    server, name = listening(backlog=0)
    clients: list[socket.socket] = []
    while True:
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        try:
            client.connect(name)
        except BlockingIOError:
            return server, name, clients
        clients.append(client)


@case
def stream() -> object:
    server, name = listening()
    client = socket.socket(socket.AF_UNIX)
    client.connect(name)
    accepted, _ = server.accept()
    accepted.send(b"hello")
    return client.recv(5).decode(), client.getpeername() == name, raw(client.fileno(), unix(name.encode()))


@case
def packets() -> object:
    server, name = listening(socket.SOCK_SEQPACKET)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(name)
    client.send(b"one")
    return server.accept()[0].recv(10).decode()


@case
def wrong_kind() -> object:
    _server, name = listening(socket.SOCK_SEQPACKET)
    with socket.socket(socket.AF_UNIX) as client:
        return raw(client.fileno(), unix(name.encode()))


@case
def names() -> object:
    _server, name = listening()
    absolute = os.path.abspath(name)
    os.symlink(absolute, f"{name}-link")
    os.link(name, f"{name}-hard")
    os.mkdir(f"{name}-directory")
    longest = (os.getcwd() + "/" + "./" * 60)[:107]  # not a name, but as long as one may be
    return {
        str(number): connect_by(each)
        for number, each in enumerate(
            (
                *(name.encode(), absolute.encode(), f"{name}-link".encode(), f"{name}-hard".encode()),
                *(f"{name}-directory/../{name}".encode(), name.encode() + b"\0ignored", b"missing", b"..", b"."),
                *(f"{name}/below".encode(), b"x" * 108, longest.encode(), b"", b"x" * 109, f"//{absolute}".encode()),
            )
        )
    }


def connect_by(name: bytes) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        return raw(client.fileno(), unix(name))


@case
def unbound_file() -> object:
    server, name = listening()
    server.close()
    return connect_by(name.encode())


@case
def not_listening() -> object:
    server = socket.socket(socket.AF_UNIX)
    server.bind(tempfile.mktemp(dir="."))
    return connect_by(server.getsockname().encode())


@case
def unwritable_file() -> object:
    _server, name = listening()
    os.chmod(name, 0)
    return connect_by(name.encode()) in ("EACCES", "ok")  # root may


@case
def abstract() -> object:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("")
        server.listen()
        name = server.getsockname()
        return connect_by(name), connect_by(name + b"x")


@case
def wrong_arguments() -> object:
    server, name = listening()
    file = os.open(".", os.O_RDONLY)
    path_only = os.open(".", os.O_PATH)
    with socket.socket(socket.AF_UNIX) as client, socket.socket() as tcp:
        return (
            raw(client.fileno(), 8, 16),
            raw(client.fileno(), unix(b"x"), -1),
            raw(client.fileno(), unix(b"x"), 4096),
            raw(client.fileno(), b"", 0),
            raw(client.fileno(), b"\1", 1),
            raw(client.fileno(), unix(b""), 2),
            raw(client.fileno(), inet(1)),
            raw(client.fileno(), bytes(16)),
            raw(tcp.fileno(), unix(name.encode())),
            raw(tcp.fileno(), b"", 0),
            raw(tcp.fileno(), inet(1), 8),
            raw(server.fileno(), unix(name.encode())),
            raw(-1, inet(1)),
            raw(4000, inet(1)),
            raw(file, inet(1)),
            raw(path_only, inet(1)),
        )


@case
def tcp() -> object:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client, socket.socket() as other:
        port = server.getsockname()[1]
        return raw(client.fileno(), inet(port)), raw(client.fileno(), inet(port)), raw(other.fileno(), inet(1))


@case
def tcp_without_waiting() -> object:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.setblocking(False)
        address = inet(server.getsockname()[1])
        first = raw(client.fileno(), address)
        server.accept()
        again = raw(client.fileno(), address), raw(client.fileno(), address)
        return first, again, client.getblocking()


@case
def tcp_refused_without_waiting() -> object:
    with socket.socket() as client:
        client.setblocking(False)
        return raw(client.fileno(), inet(1)), client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


@case
def ipv6() -> object:
    if not os.path.exists("/proc/sys/net/ipv6"):
        return "none here"
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        socket.create_connection(server.getsockname()[:2]).close()
        return "ok"


@case
def datagrams() -> object:
    server, client = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    client.connect(server.getsockname())
    client.send(b"one")
    arrived = server.recv(10).decode()
    return arrived, raw(client.fileno(), bytes(16)), errno_of(lambda: client.send(b"two"))


@case
def dissolved() -> object:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
        return raw(client.fileno(), bytes(16)), errno_of(client.getpeername)


@case
def netlink() -> object:
    kernel, port, group = (0, 0), (4711, 0), (0, 1)
    outcomes = []
    for each in (kernel, port, group):
        with socket.socket(_NETLINK, socket.SOCK_RAW, 0) as sock:
            outcomes.append(raw(sock.fileno(), struct.pack("=HHII", _NETLINK, 0, *each)))
    return outcomes[0], set(outcomes[1:]) <= {"EPERM", "ok"}  # who may administer the network may


@case
def full_server() -> object:
    _server, name, _clients = full()
    impatient = socket.socket(socket.AF_UNIX)
    impatient.setsockopt(socket.SOL_SOCKET, _SEND_TIMEOUT, struct.pack("@ll", 0, 50_000))
    hasty = socket.socket(socket.AF_UNIX)
    hasty.setblocking(False)
    return raw(impatient.fileno(), unix(name.encode())), raw(hasty.fileno(), unix(name.encode()))


@case
def server_that_takes_its_time() -> object:
    server, name, _clients = full()
    threading.Timer(0.1, server.accept).start()
    return connect_by(name.encode())


@case
def interrupted() -> object:
    _server, name, _clients = full()
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append("alarm"))
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    return connect_by(name.encode()), caught


@case
def restarted() -> object:
    server, name, _clients = full()
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append("alarm"))
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    threading.Timer(0.4, server.accept).start()
    return connect_by(name.encode()), caught


@case
def killed() -> object:
    _server, name, _clients = full()
    pid = os.fork()
    if pid == 0:
        connect_by(name.encode())
        os._exit(0)
    time.sleep(0.1)
    os.kill(pid, signal.SIGTERM)
    return os.waitpid(pid, 0)[1]


@case
def storm_of_signals() -> object:
    """As Go's scheduler sends them."""
    caught = []
    signal.signal(signal.SIGUSR1, lambda *_: caught.append(1))
    signal.siginterrupt(signal.SIGUSR1, False)
    unix_server, name = listening(backlog=1000)
    over = threading.Event()
    me = threading.get_ident()

    def send() -> None:
        while not over.is_set():
            signal.pthread_kill(me, signal.SIGUSR1)
            time.sleep(0.0002)

    sender = threading.Thread(target=send)
    sender.start()
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as server:
        outcomes = {connect_by(name.encode()) for _ in range(200)}
        for _ in range(200):
            with socket.socket() as client:
                outcomes.add(raw(client.fileno(), inet(server.getsockname()[1])))
    over.set()
    sender.join()
    unix_server.close()
    return sorted(outcomes), bool(caught)


@case
def many_at_once() -> object:
    server, name = listening(backlog=5)
    total = 1000

    def accept() -> None:
        for _ in range(total):
            server.accept()[0].close()

    accepter = threading.Thread(target=accept)
    accepter.start()
    with ThreadPoolExecutor(100) as pool:
        outcomes = set(pool.map(lambda _: connect_by(name.encode()), range(total)))
    accepter.join()
    return sorted(outcomes)


@case
def from_another_thread_with_its_own_directory() -> object:
    new_file_system_attributes = 0x200
    _server, name = listening()
    outcome = []

    def connect() -> None:
        _libc.unshare(new_file_system_attributes)
        os.mkdir(f"{name}-elsewhere")
        os.chdir(f"{name}-elsewhere")
        outcome.append((connect_by(name.encode()), connect_by(f"../{name}".encode())))

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    return outcome


def errno_of(act: Callable[[], object]) -> str:
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "ok"


def main() -> None:
    os.chdir(sys.argv[1])
    chosen = sys.argv[2:] or _CASES
    outcomes = {}
    for name in chosen:
        outcomes[name] = _CASES[name]()
    json.dump(outcomes, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
