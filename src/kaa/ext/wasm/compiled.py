"""Compiles components once: machine code is kept in kaa's home, which commands can neither read nor write.

Loading machine code executes it later, so only a file that kaa itself wrote is loaded: a regular file of this user that
nobody else can write, whose content has the digest in its name. The name also has a digest of what it was made from:
the component, the version of wasmtime, the engine's configuration and the machine.
"""

import hashlib
import os
import platform
import stat
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from kaa.ext.wasm.errors import ComponentError
from kaa.host.log import LOG

if TYPE_CHECKING:
    from wasmtime import Engine
    from wasmtime.component import Component

_SUFFIX = ".cwasm"
_UNFINISHED = f".part{_SUFFIX}"  # counts as machine code that no component has, and goes with the oldest
_MAX_FILES = 32
# Changes when `engine` changes.
_CONFIGURATION = "fuel, epochs: 1"


def engine() -> "Engine":
    """An engine whose code can be interrupted from another thread and counts what it executes."""
    from wasmtime import Config, Engine  # lazy: only components need wasmtime

    config = Config()
    config.consume_fuel = True
    config.epoch_interruption = True
    return Engine(config)


class CompiledFiles:
    """A folder of machine code.

    Args:
        folder: is created when something is compiled.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unkept: dict[str, bytes] = {}  # where the folder cannot be written
        self._checked: dict[str, tuple[Path, object]] = {}  # with their state, to read each file once

    def load(self, own: "Engine", data: bytes) -> "Component":
        """The machine code of a component; compiles it unless that was done before. This can take seconds.

        Args:
            own: the engine that runs it, from `engine`.
            data: the component.

        Raises:
            ComponentError: it is invalid.
        """
        from wasmtime import WasmtimeError
        from wasmtime.component import Component

        key = _key(data)
        try:
            if key in self._unkept:
                return Component.deserialize(own, self._unkept[key])
            if (kept := self._find(key)) is not None:
                return Component.deserialize_file(own, str(kept))
        except (WasmtimeError, OSError) as error:
            LOG.warning("machine code of a component cannot be loaded: %s", error)
        try:
            component = Component(own, data)
        except WasmtimeError as error:
            raise ComponentError(f"it is not a valid component: {brief(str(error))}. Build it again") from error
        self._keep(key, bytes(component.serialize()))
        return component

    def _find(self, key: str) -> Path | None:
        if key in self._checked and _state(self._checked[key][0]) == self._checked[key][1]:
            return self._checked[key][0]
        try:
            names = [name for name in os.listdir(self._folder) if name.startswith(f"{key}.") and name.endswith(_SUFFIX)]
        except OSError:
            return None
        for name in names:
            path = self._folder / name
            if _is_own(path, name.removesuffix(_SUFFIX).removeprefix(f"{key}.")):
                with suppress(OSError):
                    os.utime(path)  # it was used
                self._checked[key] = path, _state(path)
                return path
            LOG.warning("machine code %s was changed by somebody else and is not loaded", path)
            with suppress(OSError):
                path.unlink()
        return None

    def _keep(self, key: str, code: bytes) -> None:
        temporary = ""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(_UNFINISHED, dir=self._folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(code)
            os.replace(temporary, self._folder / f"{key}.{hashlib.sha256(code).hexdigest()}{_SUFFIX}")
            self._remove_oldest()
        except OSError as error:  # the next start compiles again
            self._unkept[key] = code
            LOG.warning("machine code cannot be kept in %s: %s", self._folder, error)
            with suppress(OSError):
                os.unlink(temporary)

    def _remove_oldest(self) -> None:
        kept = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[_MAX_FILES:]:
            path.unlink()


def brief(problem: str) -> str:
    """The reason at the end of an error of wasmtime, on one line; what comes before is a backtrace."""
    reason = problem.rpartition("Caused by:\n")[2]
    lines = [line.strip() for line in reason.splitlines() if line.strip() and not line.lstrip().startswith("-->")]
    return " ".join(lines)[:500].removeprefix("wasm trap: ")


def _key(data: bytes) -> str:
    made_from = (version("wasmtime"), _CONFIGURATION, platform.machine(), platform.system())
    return hashlib.sha256("\0".join(made_from).encode() + b"\0" + hashlib.sha256(data).digest()).hexdigest()


def _state(path: Path) -> object:
    """Changes when a file changes; None if it is gone."""
    try:
        state = path.lstat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _is_own(path: Path, digest: str) -> bool:
    """Whether this user wrote a file, nobody else can write it, and it has the content with this digest."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
            return False
        return hashlib.file_digest(file, "sha256").hexdigest() == digest
