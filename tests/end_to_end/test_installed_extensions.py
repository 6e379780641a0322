"""Extensions from git and from a wheel, used in a terminal while their installed files change; a process that dies."""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kaa.cli import run
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.frontends.extensions.conftest import bundle, forked_pip, needs_pip, pip, unpacked_pip
from tests.support.extension_sources import commit, wheel
from tests.support.model_server import call, say
from tests.support.processes import Processes
from tests.support.program import Program

__all__ = ("bundle", "forked_pip", "pip", "unpacked_pip")  # fixtures

_RULES = '''
from kaa.ext.api import Reply


def extend(kaa):
    @kaa.command
    async def rules(arguments, context):
        """Show the rules."""
        return Reply("rules, first edition")
'''

# Works on its first call until it is killed.
_WORKER = """
import json
import os

TOOL = {"name": "work", "description": "Work", "parameters": {"type": "object"}}

with open(3) as kaa_writes, open(4, "w", buffering=1) as kaa_reads:
    def send(**message):
        kaa_reads.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")

    for line in kaa_writes:
        message = json.loads(line)
        if message["method"] == "initialize":
            first_call = os.path.join(message["params"]["configDir"], "first_call")
            send(method="register/tool", params=TOOL)
            send(id=message["id"], result={"name": "worker", "version": "1"})
        elif message["method"] == "tool/execute" and not os.path.exists(first_call):
            open(first_call, "w").close()
        elif "id" in message:
            send(id=message["id"], result={"content": [{"type": "text", "text": "worked"}]})
"""


def _install(seat: Seat, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Install in this process: a whole kaa, and a pip that it has to unpack, take 2 s."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", sys.path[:])
        for name, value in seat.environ.items():
            patch.setenv(name, value)
        assert run(["ext", "install", "--yes", source]) == 0


def test_a_change_of_the_installed_files_is_told(seat: Seat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(tmp_path / "rules", {"__init__.py": _RULES})
    source = f"git+file://{tmp_path}/rules"
    _install(seat, monkeypatch, source)

    told = _change_the_installed_files(seat, source)

    assert told in seat.run("-p", "/rules").err
    _install(seat, monkeypatch, source)
    restored = seat.run("-p", "/rules")
    assert (restored.err, restored.out) == ("", "rules, first edition\n")


@needs_pip
def test_a_change_of_what_a_wheel_brought_is_told(
    seat: Seat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked_pip: None
) -> None:
    wheel(tmp_path / "wheels", "rules", "1.0", {"acme/__init__.py": _RULES}, entry_point="acme:extend")
    seat.setenv(PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path / "wheels"))
    _install(seat, monkeypatch, "rules==1.0")

    _change_the_installed_files(seat, "rules==1.0")


def _change_the_installed_files(seat: Seat, source: str) -> str:
    """Change them while a terminal uses them. Returns what is told."""
    told = f"extension rules: its files changed after the installation: check them, or run kaa ext install {source}"
    with seat.open() as program:
        enter(program, "/rules")
        program.wait_for("rules, first edition")
        (code,) = (path for path in (seat.home / "extensions").rglob("*.py") if "first edition" in path.read_text())

        code.write_text(_RULES.replace("first", "second"))
        enter(program, "/rules")

        program.wait_for(lambda screen: "was loaded again" in " ".join(screen.text().split()))  # the path may be long
        program.wait_for("rules, second edition")
        assert told in " ".join(program.screen.text().split())
    return told


def test_a_process_that_is_killed_during_a_call_starts_again(seat: Seat) -> None:
    folder = seat.home / "extensions" / "worker"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(_WORKER)
    manifest = {"name": "worker", "runtime": "python", "entry": "main.py", "transport": "fd", "permissions": {}}
    (folder / "manifest.yaml").write_text(json.dumps(manifest))
    assert seat.run("ext", "permit", "--yes", "worker").code == 0
    with seat.open(script=[call("work"), say("It broke."), call("work"), say("It works.")]) as program:
        enter(program, "work")
        program.wait_for(lambda _screen: (seat.home / "extension-data" / "worker" / "first_call").exists())

        for process in _processes_of(program, folder / "main.py"):
            with suppress(ProcessLookupError):  # it may end with the one around it
                os.kill(process, signal.SIGKILL)

        program.wait_for("It broke.")
        program.wait_for(is_idle)
        assert "did not answer tool/execute: its process ended" in program.screen.text()
        program.wait_for("Extension worker ended")
        program.wait_for("kaa starts it again")
        enter(program, "again")
        program.wait_for("It works.")


def _processes_of(program: Program, code: Path) -> list[int]:
    """The processes below kaa that execute a file, outermost first."""

    def executes(pid: int) -> bool:
        with suppress(OSError):
            return os.fsencode(code) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return False

    return [pid for pid in Processes().descendants(program.pid) if executes(pid)]
