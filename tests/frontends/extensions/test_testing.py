"""`kaa ext test`, as it is called."""

import os
from pathlib import Path

import pytest

from kaa.cli import run
from kaa.workspace.places import Places
from tests.support.extension_sources import MANIFEST, PYTHON, write
from tests.support.process_host import write_extension


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_an_extension_registers_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "async def go(arguments, context): pass\ndef extend(kaa): kaa.register_command('go', 'Go', go)\n"
    write(project, {"going.py": source})

    assert run(["ext", "test", "going.py"]) == 0

    assert capsys.readouterr().out.splitlines() == [f"{project}/going.py: loaded (API 1)", "  /go"]


def test_an_extension_that_fails_to_load_says_why(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, {"broken.py": "1 / 0\n"})

    assert run(["ext", "test", "broken.py"]) == 1

    assert "ZeroDivisionError: division by zero" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "name"), [("tool", "read"), ("command", "undo")], ids=["of a tool", "of a slash command"]
)
def test_a_name_of_kaa_s_own_is_taken(project: Path, capsys: pytest.CaptureFixture[str], kind: str, name: str) -> None:
    source = f"def extend(kaa):\n    @kaa.{kind}(name={name!r})\n    async def own(*, context=None):\n        'Own.'\n"
    write(project, {"own.py": source})

    assert run(["ext", "test", "own.py"]) == 1

    assert f"a {kind} named {name!r} is already registered by kaa.builtin" in capsys.readouterr().err


def test_a_name_tests_what_the_user_approved_and_a_path_what_is_there(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = write(project / "app" / "own", {"__init__.py": PYTHON, "test_own.py": "def test_own(): open('made', 'w')"})
    (project / "home" / "extensions").mkdir(parents=True)
    (project / "home" / "extensions" / "own").symlink_to(folder)
    assert Places.of(os.environ, os.path.expanduser("~"), str(project / "app")).caches  # kaa ran there

    assert run(["ext", "test", "own"]) == 1
    assert f"as it is: kaa asks in the terminal at the next start, and after /reload; `kaa ext test {folder}`" in (
        capfd.readouterr().err
    )
    assert not (folder / "made").exists()

    assert run(["ext", "test", str(folder)]) == 0
    assert (folder / "made").exists()


def test_a_test_file_beside_the_extension_is_run(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, {"own.py": PYTHON, "test_own.py": "def test_own():\n    assert False\n"})

    assert run(["ext", "test", "own.py"]) == 1

    assert "1 failed" in capfd.readouterr().out


def test_the_tests_of_an_extension_that_pass_are_a_success(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project / "own", {"__init__.py": PYTHON, "test_own.py": "def test_own():\n    assert True\n"})

    assert run(["ext", "test", "own"]) == 0

    assert "1 passed" in capfd.readouterr().out


def test_a_process_without_its_program_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(project / "x", {"manifest.yaml": MANIFEST.replace("runtime: python", "runtime: ./missing")})

    assert run(["ext", "test", str(folder)]) == 1
    assert f"`kaa ext permit {folder}` permits it" in capsys.readouterr().err

    assert run(["ext", "permit", str(folder), "--yes"]) == 0
    assert run(["ext", "test", str(folder)]) == 1
    assert "missing does not exist: build or install it" in capsys.readouterr().err


_GREETER = """
    peer = Peer()
    peer.serve([("register/tool", {"name": "greet", "description": "Greet", "parameters": {"type": "object"}})], {})
"""


def test_a_process_is_started_and_ended(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_extension(project / "home/extensions/greeter", _GREETER, "version: 1.0\npermissions: {}\n")
    assert run(["ext", "permit", "greeter", "--yes"]) == 0
    (project / "work").mkdir()
    os.chdir(project / "work")
    capsys.readouterr()

    assert run(["ext", "test", "greeter"]) == 0, capsys.readouterr()

    out = capsys.readouterr().out
    assert f"{folder}: loaded (protocol 4)" in out
    assert "  tool greet" in out


def test_a_hook_that_is_not_async_is_refused_with_its_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, {"own.py": "def extend(kaa):\n    @kaa.before_tool\n    def check(call, context): ...\n"})

    assert run(["ext", "test", "own.py"]) == 1

    assert "(line 2): RegistrationError: check must be an async function" in capsys.readouterr().err


def test_a_start_hook_that_fails_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "def extend(kaa):\n    @kaa.on_session_start\n    async def begin(start, context): 1 / 0\n"
    write(project, {"own.py": source})

    assert run(["ext", "test", "own.py"]) == 1

    assert "division by zero" in capsys.readouterr().err


def test_a_name_that_is_not_installed_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ext", "test", "nothing"]) == 2

    assert "there is no extension 'nothing'" in capsys.readouterr().err
