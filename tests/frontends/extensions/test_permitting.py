"""`kaa ext permit`, as it is called."""

import io
from pathlib import Path

import pytest

from kaa.cli import run
from kaa.ext.permissions import Permissions
from kaa.shell.extensions.records import ExtensionRecords
from kaa.shell.home import Home

_MANIFEST = "name: hello\nruntime: node\nentry: main.js\npermissions:\n  project: read\n  hosts: [api.example.com]\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    folder = tmp_path / "home/extensions/hello"
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(_MANIFEST)
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path / "home")


def test_what_it_asks_for_is_shown_and_permitted(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ext", "permit", "hello", "--yes"]) == 0

    assert "- read the files of the project\n- connect to api.example.com\npermitted hello\n" in capsys.readouterr().out
    assert ExtensionRecords(home).read()["hello"].granted == Permissions(project="read", hosts=("api.example.com",))


def test_what_is_permitted_already_is_said(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    run(["ext", "permit", "hello", "--yes"])

    assert run(["ext", "permit", "hello"]) == 0
    assert "hello already has what it asks for" in capsys.readouterr().out


def test_without_a_terminal_it_needs_a_yes(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    assert run(["ext", "permit", "hello"]) == 1
    assert "nobody can be asked: give --yes" in capsys.readouterr().err
    assert ExtensionRecords(home).read() == {}


def test_a_path_is_permitted_apart_from_the_name(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "other/hello"
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(_MANIFEST)

    assert run(["ext", "permit", "other/hello", "--yes"]) == 0

    (name,) = ExtensionRecords(home).read()
    assert name.startswith("hello@")


def test_a_component_is_permitted_what_its_description_names(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home.extensions / "words"
    folder.mkdir()
    (folder / "extension.toml").write_text('component = "words.wasm"\n[permissions]\nmodels = true\n')

    assert run(["ext", "permit", "words", "--yes"]) == 0

    assert "It is a WebAssembly component and asks to:\n- call models at your cost\n" in capsys.readouterr().out
    assert ExtensionRecords(home).read()["words"].granted == Permissions(models=True)


def test_a_name_that_cannot_be_a_key_is_recorded_with_a_hash(home: Home) -> None:
    (home.extensions / "hello").rename(home.extensions / "my tool")

    assert run(["ext", "permit", "--yes", "my tool"]) == 0
    (key,) = ExtensionRecords(home).read()
    assert key.startswith("my-tool@")
    assert run(["ext", "list"]) == 0
