"""Run as a program: establishes a confinement as the fork-server does and tries things in a slot.

Standard input is a JSON object, see `Arena.order`; standard output another, see `Report`.
"""

import contextlib
import ctypes
import errno
import functools  # noqa: F401 loaded before the user changes: the library may be out of reach afterwards
import glob  # noqa: F401 as above
import json
import os
import signal
import socket
import subprocess
import sys
import typing
from collections.abc import Callable, Sequence

_PARENT_OF_KAA = sys.argv[1]
_PR_SET_DUMPABLE = 4
_MOUNT_BIND = 4096
_NEW_MOUNT = 0x00020000

sys.path.append(_PARENT_OF_KAA)

from kaa.hands.confinement import (  # noqa: E402 the path comes first
    bpf,
    contained,
    full,
    kernel,
    landlocked,
    seccomp,
)
from kaa.hands.confinement.canaries import Canaries  # noqa: E402
from kaa.hands.confinement.contract import Confinement, ConfinementError, ViewChangedError  # noqa: E402
from kaa.hands.confinement.establishing import establish  # noqa: E402
from kaa.hands.confinement.kernel import architecture, number  # noqa: E402
from kaa.hands.confinement.selftest import self_test  # noqa: E402
from kaa.hands.policy import Policy  # noqa: E402

_ = (contained, full, landlocked, typing)  # loaded here for the same reason


def main() -> None:
    order = json.load(sys.stdin)
    _prepare(order)
    latecomer = _start_latecomer(order["late"])
    policy = Policy.parse({"policy": order["policy"]})
    answer: dict[str, object] = {}
    try:
        with Canaries.prepare(policy) as canaries:
            confinement = establish(
                policy, order["home"], order["join"], [(point, place) for point, place in order["mounts"]]
            )
            answer["checks"] = self_test(confinement, policy, canaries).checks
        answer["features"], answer["warnings"] = confinement.features, confinement.warnings
        if order["lend"] is not None:
            _lend(confinement, order["lend"])
        answer["outcomes"] = _in_slot(confinement, order["attempts"], latecomer) if order["attempts"] else []
    except ViewChangedError as error:
        answer["changed"] = str(error)
    except ConfinementError as error:
        answer["refused"] = str(error)
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    if order["lend"] is not None:
        os.read(order["lend"], 1)  # namespaces live as long as somebody is in them


def _prepare(order: dict[str, typing.Any]) -> None:
    if order["mask_proc"]:  # as container runtimes do
        kernel.call("unshare", _NEW_MOUNT)
        kernel.call("mount", None, b"/", None, 0x4000 | 0x40000, None)
        kernel.call("mount", b"/dev/null", b"/proc/version", None, _MOUNT_BIND, None)
    if order["user"] is not None:
        os.setgroups([])
        os.setresgid(*[order["user"]] * 3)
        os.setresuid(*[order["user"]] * 3)
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as after the start of a program
    if order["missing"]:
        _pretend(order["missing"])


def _pretend(missing: dict[str, str]) -> None:
    """Let system calls fail as they do on other machines, or do nothing and say that all went well."""
    machine = architecture()
    assert machine is not None
    program = [bpf.load(bpf.NUMBER_OFFSET)]
    for name, error in missing.items():
        which = number(name, machine)
        assert which is not None
        program += bpf.on_call(which, [bpf.refuse(getattr(errno, error) if error else 0)])
    kernel.forbid_new_privileges()
    seccomp.install(bpf.encode([*program, bpf.allow()]))


def _lend(confinement: Confinement, descriptor: int) -> None:
    listener = confinement.proxy_listener()
    assert listener is not None
    with listener, socket.socket(fileno=os.dup(descriptor)) as sock:
        socket.send_fds(sock, [b"."], [listener.fileno(), *confinement.namespaces()])


def _start_latecomer(late: dict[str, str]) -> socket.socket:
    """A process that stays outside and, when told, makes files with some content, or sockets where there is none."""
    ours, theirs = socket.socketpair()
    if os.fork() > 0:
        theirs.close()
        return ours
    ours.close()
    theirs.recv(1)
    for path, content in late.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if content:
            with open(f"{path}.new", "w") as file:
                file.write(content)
            os.rename(f"{path}.new", path)
        else:
            _kept.append(socket.socket(socket.AF_UNIX))
            _kept[-1].bind(path)
            _kept[-1].listen()
    theirs.send(b".")
    theirs.recv(1)
    os._exit(0)


def _in_slot(confinement: Confinement, attempts: list[list[typing.Any]], latecomer: socket.socket) -> list[str]:
    reading, writing = os.pipe()
    waiting, go = os.pipe()
    pid = confinement.fork()
    if pid == 0:
        try:
            confinement.enclose()
            kernel.prctl(_PR_SET_DUMPABLE, 1)  # as commands are
            os.close(go)
            os.read(waiting, 1)
            outcomes = [_try(_ACTIONS[name], arguments) for name, *arguments in attempts]
            os.write(writing, json.dumps(outcomes).encode())
        finally:
            os._exit(0)
    os.close(writing)
    latecomer.send(b".")
    latecomer.recv(1)
    confinement.catch_up()
    os.close(go)
    with open(reading, "rb") as answer:
        content = answer.read()
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return list(json.loads(content or b"[]"))  # nothing if it could not enclose itself


def _try(action: Callable[..., str], arguments: Sequence[typing.Any]) -> str:
    try:
        return action(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))


def _write(path: str) -> str:
    with open(path, "a") as file:
        file.write("touched\n")
    return "ok"


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


def _list(path: str) -> str:
    return " ".join(sorted(os.listdir(path)))


def _rename(source: str, target: str) -> str:
    os.rename(source, target)
    return "ok"


def _link(source: str, target: str) -> str:
    os.link(source, target)
    return "ok"


def _chmod(path: str, mode: int) -> str:
    os.chmod(path, mode)
    return "ok"


def _open_with_mode(path: str, mode: int) -> str:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode))
    return "ok"


def _chown(path: str, user: int) -> str:
    os.chown(path, user, -1)
    return "ok"


def _connect(port: int) -> str:
    with socket.socket() as sock:
        sock.settimeout(2)
        sock.connect(("127.0.0.1", port))
    return "ok"


def _call(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
    return "ok"


def _listen(port: int) -> str:
    """A server that stays until the slot ends."""
    _kept.append(socket.create_server(("127.0.0.1", port)))
    return str(_kept[-1].getsockname()[1])


def _make_socket(family: int, kind: int, protocol: int) -> str:
    socket.socket(family, kind, protocol).close()
    return "ok"


def _pair() -> str:
    left, right = socket.socketpair()
    with left, right:
        left.send(b"x")
        return right.recv(1).decode()


def _system_call(name: str, *arguments: int) -> str:
    kernel.call(name, *arguments)
    return "ok"


def _shell(command: str) -> str:
    done = subprocess.run(
        ["/bin/sh", "-c", command], env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, check=False
    )
    return done.stdout.decode()


def _kill(pid: int) -> str:
    os.kill(pid, 0)
    return "ok"


_kept: list[socket.socket] = []
_ACTIONS: dict[str, Callable[..., str]] = {
    "write": _write,
    "read": _read,
    "list": _list,
    "rename": _rename,
    "link": _link,
    "chmod": _chmod,
    "create": _open_with_mode,
    "chown": _chown,
    "connect": _connect,
    "call daemon": _call,
    "listen": _listen,
    "socket": _make_socket,
    "pair": _pair,
    "system call": _system_call,
    "shell": _shell,
    "kill": _kill,
}


if __name__ == "__main__":
    main()
