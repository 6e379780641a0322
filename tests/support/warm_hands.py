"""A process that has loaded the hands, and forks for each start: `python -I -S warm_hands.py SOCKET .../__main__.py`.

Each order has the control socket, and as its text the umask and the limits that the hands inherit; the answer is the
pid. The hands are a child of the process that started this one, as after each start.
"""

import ctypes
import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from importlib import import_module
from typing import NoReturn

# What hands load before they are confined and afterwards.
LOADED = (
    "kaa.hands.checkpoints.service",
    "kaa.hands.confinement.arrivals",
    "kaa.hands.confinement.full",
    "kaa.hands.confinement.layout",
    "kaa.hands.files",
    "kaa.hands.git_config_keys",
    "kaa.hands.guard.service",
    "kaa.hands.server",
)

# clone(2): the child's parent is that of the caller.
_CLONE_PARENT = 0x8000
_CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
_RESOURCES = 16  # getrlimit(2)
_LIMIT = 4096
_libc = ctypes.CDLL(None, use_errno=True)


class ForkedHands:
    """A process of hands, with what `kaa.workspace.launch.HandsProcess` has."""

    stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._exit_code: int | None = None

    def kill(self) -> None:
        if self._exit_code is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while self._exit_code is None:
            pid, status = os.waitpid(self.pid, 0 if end is None else os.WNOHANG)
            if pid:
                self._exit_code = os.waitstatus_to_exitcode(status)
            elif end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("hands", timeout or 0)
            else:
                time.sleep(0.002)
        return self._exit_code


class HandsServer:
    """The process that forks hands, as the one that starts them sees it."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders

    def start(self, control: int) -> ForkedHands:
        """Start hands whose standard input is the socket `control`."""
        socket.send_fds(self._orders, [json.dumps(_inherited()).encode()], [control])
        if not (answer := self._orders.recv(32)):
            raise ChildProcessError("the process that has loaded the hands is gone: its error is on the standard error")
        if (pid := int(answer)) < 0:
            raise OSError(-pid, os.strerror(-pid))
        return ForkedHands(pid)


def forked_server() -> HandsServer:
    """Fork this process, which has loaded the hands, for those that it starts. It ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setsid()
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.close(null)
        os.environ.clear()
        sys.prefix, sys.exec_prefix = sys.base_prefix, sys.base_exec_prefix  # as with -S
        serve(theirs)
    theirs.close()
    return HandsServer(ours)


def serve(orders: socket.socket) -> NoReturn:
    """Fork hands until nobody can order any."""
    while True:
        order, descriptors, _, _ = socket.recv_fds(orders, _LIMIT, 1)
        if not order:
            os._exit(0)
        pid = clone_beside()
        if pid == 0:
            break
        os.close(descriptors[0])
        orders.sendall(b"%d" % (pid if pid > 0 else -ctypes.get_errno()))
    orders.close()
    os.setsid()
    umask, limits = json.loads(order)
    os.umask(umask)
    for number, limit in enumerate(limits):
        if tuple(limit) != resource.getrlimit(number):
            resource.setrlimit(number, limit)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(descriptors[0], 0)
    os.close(descriptors[0])
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
    try:
        import_module("kaa.hands.server").main()
    finally:
        os._exit(1)


def _inherited() -> tuple[int, list[tuple[int, int]]]:
    """Return the umask and the limits of this process."""
    umask = os.umask(0)
    os.umask(umask)
    return umask, [resource.getrlimit(number) for number in range(_RESOURCES)]


def clone_beside() -> int:
    """Fork a process whose parent is that of this one. Returns its pid, 0 in it, and -1 if there is none."""
    pid: int = _libc.syscall(_CLONE_NUMBERS[os.uname().machine], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    return pid


def main() -> NoReturn:
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(sys.argv[2]))))
    for name in LOADED:
        import_module(name)
    sys.path.pop()
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
