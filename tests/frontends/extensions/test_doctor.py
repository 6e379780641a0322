"""`kaa ext doctor`, as it is called."""

import json
from pathlib import Path
from typing import Any

import pytest

from kaa.cli import run
from tests.support.extension_sources import PYTHON, write
from tests.support.process_host import write_extension

_TOOL = """\
API_VERSION = 1
__version__ = "1.4"

def extend(kaa):
    @kaa.tool(risk="read")
    async def look(path: str, context) -> str:
        "Look at a file."
        return path
"""
_PROCESS = """
    peer = Peer()
    peer.serve([("register/tool", {"name": "greet", "description": "Greet", "parameters": {"type": "object"}})], {})
"""


@pytest.fixture
def extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home/extensions"


def _checked(capsys: pytest.CaptureFixture[str], *names: str, code: int) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["ext", "doctor", "--json", *names]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_costs_and_registrations_are_those_of_a_session(extensions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(extensions, {"looking.py": _TOOL})

    (one,) = _checked(capsys, code=0)

    assert (one["name"], one["kind"], one["version"], one["problems"]) == ("looking", "python", "1.4", [])
    assert one["path"] == str(extensions / "looking.py")
    assert one["startMilliseconds"] > 0
    session = one["session"]
    assert (session["interface"], session["state"], session["adds"]) == ("API 1", "loaded", ["tool look"])
    assert session["promptTokens"] > 0
    assert run(["ext", "doctor"]) == 0
    out = capsys.readouterr().out
    assert "looking 1.4: loaded, python, API 1, extensions folder\n" in out
    assert "  adds tool look\n" in out
    assert out.endswith("  ok\n")


def test_a_process_is_started(extensions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_extension(extensions / "greeter", _PROCESS, "version: 2.0.1\npermissions: {project: read}\n")
    run(["ext", "permit", "greeter", "--yes"])

    (one,) = _checked(capsys, code=0)

    assert (one["version"], one["asksFor"], one["permitted"]) == ("2.0.1", ["read the files of the project"], True)
    assert (one["session"]["interface"], one["session"]["adds"][0]) == ("protocol 4", "tool greet")


def test_a_process_that_is_not_permitted_names_the_remedy(extensions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_extension(extensions / "greeter", _PROCESS, "permissions: {project: read}\n")

    (one,) = _checked(capsys, code=1)

    assert one["permitted"] is False
    assert "`kaa ext permit greeter` permits it" in one["problems"][0]


def test_what_kaa_refuses_is_a_problem(extensions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = _PROCESS.replace('"greet"', '"read"')
    write_extension(extensions / "greeter", twice, "permissions: {}\n")
    run(["ext", "permit", "greeter", "--yes"])

    (one,) = _checked(capsys, code=1)

    assert any("a tool named 'read' is already registered" in problem for problem in one["problems"])


def test_one_that_fails_keeps_no_other_from_being_checked(extensions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(extensions, {"broken.py": "1 / 0\n", "fine.py": PYTHON, "off.py": "1 / 0\n"})
    run(["ext", "disable", "off"])

    checked = {one["name"]: one for one in _checked(capsys, code=1)}

    assert "(line 1): ZeroDivisionError" in checked["broken"]["problems"][0]
    assert checked["fine"]["problems"] == []
    assert (checked["off"]["session"]["state"], checked["off"]["problems"]) == ("disabled", [])
    assert [one["name"] for one in _checked(capsys, "fine", code=0)] == ["fine"]


def test_a_required_extension_that_fails_opens_no_conversation(
    extensions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(extensions, {"broken.py": "1 / 0\n"})
    write(extensions.parent, {"settings.json": '{"requiredExtensions": ["broken"]}'})

    assert run(["ext", "doctor"]) == 1

    assert "kaa opens no conversation: Extension" in capsys.readouterr().err


def test_extensions_of_a_project_that_is_not_trusted_are_listed(
    extensions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Path(".kaa/extensions"), {"theirs.py": "open('canary', 'w')\n"})

    (one,) = _checked(capsys, code=0)

    assert (one["name"], one["session"]["state"]) == ("theirs", "not trusted")
    assert not Path("canary").exists()


def test_a_name_that_there_is_not(extensions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ext", "doctor", "nothing"]) == 2

    assert "there is no extension 'nothing': there are none" in capsys.readouterr().err
