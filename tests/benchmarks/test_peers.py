"""`scripts/peers.sh`, which installs other agents, on machines where it cannot."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "peers.sh"
_TOOLS = ("bash", "env", "sh", "uname", "mkdir", "rm", "ln", "cat")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The only folder of programs of a machine without npm and Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in _TOOLS:
        program = shutil.which(name)
        assert program is not None
        (folder / name).symlink_to(program)
    return folder


def _install(machine: Path, peers: Path) -> list[str]:
    environ = {"PATH": str(machine), "HOME": str(machine.parent)}
    command = [shutil.which("bash") or "bash", str(_SCRIPT), "no-uv", str(peers)]
    done = subprocess.run(command, env=environ, capture_output=True, encoding="utf-8", check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _pinned(name: str) -> str:
    found = re.search(rf"^{name}=(\S+)", _SCRIPT.read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def _add(machine: Path, name: str, script: str) -> None:
    (machine / name).write_text(f"#!/bin/sh\n{script}\n")
    (machine / name).chmod(0o755)


def test_a_machine_without_npm_and_python_gets_a_line_for_each_agent(machine: Path, tmp_path: Path) -> None:
    assert _install(machine, tmp_path / "peers") == [
        "peers: pi is missing: there is no npm on this machine",
        "peers: codex is missing: there is no npm on this machine",
        "peers: tau is missing: it needs Python 3.12 or newer",
    ]


def test_a_machine_without_a_network_gets_a_line_for_each_agent(machine: Path, tmp_path: Path) -> None:
    _add(machine, "npm", "echo no network >&2; exit 1")
    _add(machine, "python3", "exit 0")
    log = tmp_path / "peers" / "install.log"

    pi, codex, tau = _install(machine, tmp_path / "peers")

    assert pi.startswith("peers: pi is missing: npm could not install Node.js")
    assert codex == f"peers: codex is missing: npm could not install it, see {log}"
    assert tau == f"peers: tau is missing: it could not be installed, see {log}"
    assert "no network" in log.read_text()


def test_what_is_there_in_the_pinned_version_is_kept_and_another_version_is_not(machine: Path, tmp_path: Path) -> None:
    peers = tmp_path / "peers" / "bin"
    peers.mkdir(parents=True)
    _add(peers, "pi", "echo 0.74.2")
    _add(peers, "codex", f"echo codex-cli {_pinned('codex')}")

    lines = _install(machine, tmp_path / "peers")

    assert lines[1] == f"peers: codex {_pinned('codex')}"
    assert {path.name for path in peers.iterdir()} == {"codex"}
