"""`kaa ext update`, and what `kaa ext remove` leaves, as they are called."""

import os
from pathlib import Path

import pytest

from kaa.cli import run
from kaa.shell.extensions.records import ExtensionRecords, Installation
from kaa.shell.home import Home
from tests.frontends.extensions.conftest import needs_pip
from tests.support.extension_sources import MANIFEST, PYTHON, commit, wheel, write

_PROCESS = {"manifest.yaml": MANIFEST, "main.py": "print()\n"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return Home(tmp_path / "home")


def _installation(home: Home, name: str) -> Installation:
    found = ExtensionRecords(home).read()[name].installation
    assert found is not None
    return found


def test_a_branch_is_pinned_to_its_new_commit(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(tmp_path / "hello", {"__init__.py": PYTHON})
    assert run(["ext", "install", f"git+file://{tmp_path}/hello@main", "--yes"]) == 0
    assert run(["ext", "disable", "hello"]) == 0
    assert run(["ext", "update", "hello"]) == 0
    assert "hello is up to date" in capsys.readouterr().out
    second = commit(tmp_path / "hello", {"__init__.py": f"# second\n{PYTHON}"})

    assert run(["ext", "update", "--yes"]) == 0

    assert "+# second" in capsys.readouterr().out
    assert _installation(home, "hello").commit == second
    assert (home.extensions / "hello/__init__.py").read_text().startswith("# second")
    assert not ExtensionRecords(home).read()["hello"].enabled


@needs_pip
@pytest.mark.usefixtures("forked_pip")
def test_the_newest_wheel_takes_the_place_of_the_pinned_one(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("1.0", "2.0"):
        files = {"acme_rules.py": f"# {version}\n{PYTHON}"}
        wheel(tmp_path / "wheels", "acme-rules", version, files, entry_point="acme_rules")
    assert run(["ext", "install", "acme-rules==1.0", "--yes"]) == 0
    capsys.readouterr()

    assert run(["ext", "update", "acme-rules", "--yes"]) == 0

    out = capsys.readouterr().out
    assert "+# 2.0" in out
    assert "METADATA" not in out
    installation = _installation(home, "acme-rules")
    assert installation.version == "2.0"
    assert list(installation.wheels) == ["acme_rules-2.0-py3-none-any.whl"]


def test_more_permissions_are_not_granted_without_a_question(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "x", _PROCESS)
    assert run(["ext", "install", str(folder), "--yes"]) == 0
    before = _installation(home, "greeter")
    write(folder, {"manifest.yaml": MANIFEST.replace("project: read", "project: write")})

    assert run(["ext", "update", "--yes"]) == 1

    printed = capsys.readouterr()
    assert "new permission: read and write the files of the project" in printed.out
    assert "greeter is not updated: it asks for more permissions" in printed.err
    assert _installation(home, "greeter") == before
    assert "project: read" in (home.extensions / "greeter/manifest.yaml").read_text()


def test_one_that_fails_keeps_its_version_and_no_other_from_its_update(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("aaa", "bbb"):
        write(tmp_path / name, {"__init__.py": PYTHON})
        assert run(["ext", "install", str(tmp_path / name), "--yes"]) == 0
    (tmp_path / "aaa/__init__.py").unlink()
    write(tmp_path / "bbb", {"__init__.py": f"# new\n{PYTHON}"})

    assert run(["ext", "update", "--yes"]) == 1

    assert "aaa is not updated: the folder is no extension" in capsys.readouterr().err
    assert (home.extensions / "aaa/__init__.py").read_text() == PYTHON
    assert (home.extensions / "bbb/__init__.py").read_text().startswith("# new")


def test_without_a_user_and_without_yes_nothing_is_updated(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "x", {"__init__.py": PYTHON})
    assert run(["ext", "install", str(folder), "--yes"]) == 0
    write(folder, {"__init__.py": f"# new\n{PYTHON}"})

    assert run(["ext", "update", "x"]) == 1

    assert "nobody can be asked: give --yes" in capsys.readouterr().err
    assert (home.extensions / "x/__init__.py").read_text() == PYTHON


def test_data_of_a_removed_extension_is_named_and_removed_on_request(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in ("one", "two"):
        write(tmp_path / source / "mine", {"__init__.py": PYTHON})
    write(home.extension_data / "mine", {"user.json": "{}"})
    assert run(["ext", "install", str(tmp_path / "one/mine"), "--yes"]) == 0
    assert f"another extension of this name left in {home.extension_data}/mine" in capsys.readouterr().out
    assert run(["ext", "install", str(tmp_path / "one/mine"), "--yes"]) == 0
    assert "left in" not in capsys.readouterr().out
    assert run(["ext", "install", str(tmp_path / "two/mine"), "--yes"]) == 0
    assert "left in" in capsys.readouterr().out

    assert run(["ext", "remove", "mine"]) == 0
    assert f"its data stays in {home.extension_data}/mine: --data removes it" in capsys.readouterr().out
    assert run(["ext", "install", str(tmp_path / "one/mine"), "--yes"]) == 0
    assert run(["ext", "remove", "mine", "--data"]) == 0
    assert not (home.extension_data / "mine").exists()
