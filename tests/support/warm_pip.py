"""Runs of pip that are forked from a process that has loaded it: most of a run is loading.

As a program, it is that process: `python -I -S warm_pip.py SOCKET PIP RUNNER`. Each order is JSON with two descriptors
for output and errors; the answer is the exit code. What is installed beside kaa, which pip reads in each run, it does
not see.
"""

import ensurepip
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_LIMIT = 1 << 16
_LOADED = (
    "pip._internal.cli.main",
    "pip._internal.commands.download",
    "pip._internal.commands.install",
    "pip._internal.metadata.importlib",
    "pip._internal.resolution.resolvelib.resolver",
    "pip._vendor.distro",
    "pip._vendor.pkg_resources",
    "pip._vendor.resolvelib",
)


class WarmPip:
    """Stands in for the module `subprocess` where kaa runs pip. Use `warm_pip`."""

    DEVNULL = subprocess.DEVNULL
    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, **_options: object
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run what kaa would start as `python -I pip_runner.py PIP ARGUMENTS...`."""
        order = json.dumps({"arguments": argv[4:], "environ": dict(env), "directory": str(cwd)})
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            socket.send_fds(self._orders, [order.encode()], [output.fileno(), errors.fileno()])
            code = int(self._orders.recv(_LIMIT))
            for stream in (output, errors):
                stream.seek(0)
            return subprocess.CompletedProcess(argv, code, output.read(), errors.read())


def unpack_bundle(folder: Path) -> None:
    """Make an `ensurepip` whose wheel of pip is a folder: of modules in an archive, Python keeps nothing compiled.

    Args:
        folder: for it; another process may make the same.
    """
    package = folder / "ensurepip"
    if package.exists():
        return
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        making = Path(temporary, "ensurepip")
        making.mkdir()
        (making / "__init__.py").touch()
        for wheel in Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(making / "_bundled" / wheel.name)
        with suppress(OSError):  # another process was faster
            making.rename(package)


@contextmanager
def warm_pip(runner: Path, bundle: Path) -> Iterator[WarmPip]:
    """Start the process, and end it.

    Args:
        runner: the program with which kaa runs pip.
        bundle: what `unpack_bundle` has made.
    """
    (place, *_) = (*bundle.glob("ensurepip/_bundled/pip-*"), bundle)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, str(theirs.fileno()), str(place), str(runner)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        try:
            yield WarmPip(ours)
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            process.wait()


def _serve(orders: socket.socket, place: str, runner: str) -> None:
    sys.path.append(place)
    for name in _LOADED:
        import_module(name)
    while True:
        data, descriptors, _, _ = socket.recv_fds(orders, _LIMIT, 2)
        if not data:
            return
        if (pid := os.fork()) == 0:
            orders.close()
            _become(json.loads(data), descriptors, place, runner)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        orders.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _become(order: dict[str, Any], descriptors: Sequence[int], place: str, runner: str) -> None:  # any: JSON
    for number, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.argv = [runner, place, *order["arguments"]]
    runpy.run_path(runner, run_name="__main__")


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), *sys.argv[2:4])
