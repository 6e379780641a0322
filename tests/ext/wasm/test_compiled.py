"""Machine code is kept, and only that of kaa itself is loaded."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from wasmtime import Engine, wat2wasm
from wasmtime.component import Component

from kaa.ext.wasm.compiled import CompiledFiles, brief, engine
from kaa.ext.wasm.errors import ComponentError

_COMPONENT = bytes(wat2wasm("(component)"))
# The kernel kills it when it has written a part of the machine code.
_KILLED = """
import resource, signal, sys
from pathlib import Path
from kaa.ext.wasm.compiled import CompiledFiles, engine

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
CompiledFiles(Path(sys.argv[1])).load(engine(), sys.stdin.buffer.read())
"""


def _kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cwasm"))


def test_a_component_is_compiled_once(tmp_path: Path) -> None:
    CompiledFiles(tmp_path).load(engine(), _COMPONENT)
    (kept,) = _kept(tmp_path)
    inode = kept.stat().st_ino

    CompiledFiles(tmp_path).load(engine(), _COMPONENT)

    assert [path.stat().st_ino for path in _kept(tmp_path)] == [inode]
    assert kept.stat().st_mode & 0o077 == 0


def test_another_component_is_compiled_anew(tmp_path: Path) -> None:
    files = CompiledFiles(tmp_path)

    files.load(engine(), _COMPONENT)
    files.load(engine(), bytes(wat2wasm("(component (core module))")))

    assert len(_kept(tmp_path)) == 2


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def _replace(path: Path) -> None:
    other = Component(Engine(), "(component (core module))").serialize()
    path.write_bytes(other)


def _link(path: Path) -> None:
    target = path.with_suffix(".elsewhere")
    path.rename(target)
    path.symlink_to(target)


def _share(path: Path) -> None:
    path.chmod(0o666)


def _give_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to other users")
    os.chown(path, 12345, -1)


@pytest.mark.parametrize("change", [_append, _replace, _link, _share, _give_away])
def test_a_changed_or_foreign_file_is_not_loaded_but_made_again(tmp_path: Path, change: Callable[[Path], None]) -> None:
    CompiledFiles(tmp_path).load(engine(), _COMPONENT)
    (kept,) = _kept(tmp_path)
    content = kept.read_bytes()
    change(kept)

    CompiledFiles(tmp_path).load(engine(), _COMPONENT)

    (made,) = _kept(tmp_path)
    assert made.read_bytes() == content
    assert not made.is_symlink()
    assert (made.stat().st_uid, made.stat().st_mode & 0o777) == (os.geteuid(), 0o600)


def test_a_file_that_changes_while_kaa_runs_is_not_loaded(tmp_path: Path) -> None:
    files = CompiledFiles(tmp_path)
    files.load(engine(), _COMPONENT)
    (kept,) = _kept(tmp_path)
    content = kept.read_bytes()
    files.load(engine(), _COMPONENT)
    _append(kept)

    files.load(engine(), _COMPONENT)

    assert [path.read_bytes() for path in _kept(tmp_path)] == [content]


def test_where_nothing_can_be_kept_components_work_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    files = CompiledFiles(tmp_path / "file" / "cache")

    files.load(engine(), _COMPONENT)
    files.load(engine(), _COMPONENT)

    assert (tmp_path / "file").read_bytes() == b""


def test_the_oldest_files_are_removed(tmp_path: Path) -> None:
    for age in range(40):
        path = tmp_path / f"old{age}.cwasm"
        path.touch()
        os.utime(path, (1000 - age, 1000 - age))

    CompiledFiles(tmp_path).load(engine(), _COMPONENT)

    left = {path.name for path in _kept(tmp_path)}
    assert len(left) == 32
    assert {"old0.cwasm", "old30.cwasm"} <= left


def test_an_invalid_component_is_an_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match=r"it is not a valid component: .+\. Build it again"):
        CompiledFiles(tmp_path).load(engine(), _COMPONENT + b"x")
    assert _kept(tmp_path) == []


def test_a_reason_is_the_cause_without_the_backtrace() -> None:
    problem = "error while executing at wasm backtrace:\n    0:  0x4c - m!f\n\nCaused by:\n    wasm trap: interrupt\n"

    assert brief(problem) == "interrupt"


def test_what_a_killed_kaa_was_writing_is_removed_with_the_oldest(tmp_path: Path) -> None:
    files = CompiledFiles(tmp_path)
    writer = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)], input=_COMPONENT, capture_output=True, check=False
    )
    assert writer.returncode == -signal.SIGXFSZ
    (left,) = tmp_path.iterdir()
    os.utime(left, (1000, 1000))

    for number in range(32):
        files.load(engine(), bytes(wat2wasm(f'(component (core module (func (export "f{number}"))))')))

    assert not left.exists()
    assert len(list(tmp_path.iterdir())) == 32
