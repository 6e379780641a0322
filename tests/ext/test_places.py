import re
from pathlib import Path

import pytest

from kaa.ext.errors import ExtensionError
from kaa.ext.kinds import extension_at
from kaa.ext.places import ExtensionId, Kind, check_key, discover, entry_file, fingerprint, kind_of
from kaa.ext.process.host import ProcessHost
from tests.support.tables import each


def make(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_extensions_of_all_kinds_are_found_in_order(tmp_path: Path) -> None:
    for name in ("b.py", "a/__init__.py", "d/manifest.yaml", "c.wasm", "e/extension.toml"):
        make(tmp_path / name)
    for name in ("notes.txt", "empty/data.json", ".hidden.py", ".git/__init__.py"):
        make(tmp_path / name)

    assert [path.name for path in discover(tmp_path)] == ["a", "b.py", "c.wasm", "d", "e"]
    assert discover(tmp_path / "missing") == []


@pytest.mark.parametrize(
    ("files", "kind", "entry"),
    [
        (["__init__.py"], "python", "__init__.py"),
        (["__init__.py", "manifest.yaml"], "process", "manifest.yaml"),
        (["extension.toml", "code.wasm"], "component", "extension.toml"),
        (["manifest.yml"], None, "__init__.py"),
    ],
)
def test_a_folder_is_recognized_by_its_entry(tmp_path: Path, files: list[str], kind: Kind | None, entry: str) -> None:
    for name in files:
        make(tmp_path / "mine" / name)

    assert kind_of(tmp_path / "mine") == kind
    assert entry_file(tmp_path / "mine") == tmp_path / "mine" / entry


@pytest.mark.parametrize(
    ("entry", "code", "data"),
    [
        (
            "__init__.py",
            ["words.py", "more/words.py", ".library/greeting/words.py"],
            ["notes.json", "__pycache__/words.py", ".git/hook.py"],
        ),
        ("manifest.yaml", ["index.ts", "lib/words.js"], ["state.json", "node_modules/left/index.js", "run.log"]),
        ("extension.toml", ["code.wasm"], ["src/lib.rs", "target/release/code.wasm"]),
    ],
)
def test_the_fingerprint_changes_with_code_and_not_with_data(
    tmp_path: Path, entry: str, code: list[str], data: list[str]
) -> None:
    make(tmp_path / entry)

    for name in code:
        before = fingerprint(tmp_path)
        make(tmp_path / name, "new")
        assert fingerprint(tmp_path) != before
    for name in data:
        before = fingerprint(tmp_path)
        make(tmp_path / name, "new")
        assert fingerprint(tmp_path) == before


def test_the_program_of_a_process_belongs_to_its_fingerprint(tmp_path: Path) -> None:
    make(tmp_path / "manifest.yaml")
    program = make(tmp_path / "server", "one")
    program.chmod(0o755)

    before = fingerprint(tmp_path)
    program.write_text("a new build")

    assert fingerprint(tmp_path) != before


@pytest.mark.parametrize("name", ["missing.py", "notes.txt", "empty"])
def test_what_is_no_extension_is_named_with_the_valid_forms(tmp_path: Path, name: str) -> None:
    make(tmp_path / "notes.txt")
    (tmp_path / "empty").mkdir()

    with pytest.raises(ExtensionError, match=rf"{name}: no extension found: use a \.py or \.wasm file, or a folder"):
        extension_at(ExtensionId.at(tmp_path / name), _no_processes, tmp_path)


def _no_processes() -> ProcessHost:
    raise AssertionError("this is no extension process")


def test_an_extension_in_the_home_is_known_by_its_name_and_any_other_one_by_its_place() -> None:
    home = Path("/home/me/.kaa/agent/extensions")
    installed = ExtensionId.at(home / "todo.py", home)
    others = [
        ExtensionId.at(Path("/home/me/dev/todo.py"), home),
        ExtensionId.at(Path("/home/me/dev/todo"), home),
        ExtensionId.of_project(Path("/copies/1/todo.py"), "/project"),
        ExtensionId.of_project(Path("/copies/1/todo.py"), "/other"),
    ]

    assert (installed.key, installed.name, installed.argument) == ("todo", "todo", "todo")
    assert {one.name for one in others} == {"todo"}
    assert len({one.key for one in [installed, *others]}) == 5
    assert all(re.fullmatch("todo@[0-9a-f]{12}", one.key) for one in others)
    assert others[0].argument == "/home/me/dev/todo.py"


def test_versions_of_an_extension_of_a_project_have_one_key() -> None:
    before, after = (ExtensionId.of_project(Path(f"/copies/{one}/todo.py"), "/project") for one in "12")

    assert before.key == after.key
    assert before != after


@each("name", ["my.todo.py", "two words.py", "-todo.py", "kaa.py/todo\n.py", f"{'x' * 65}.py", "@.py"])
def test_a_name_that_keys_cannot_have_is_fitted_and_stays_another_one(name: str) -> None:
    home = Path("/extensions")

    key = ExtensionId.at(home / name, home).key

    check_key(key)
    assert "@" in key


@each("key", ["", "../x", ".hidden", "a.b", "todo@", "todo@123", "todo@123456789abg", "a b", "@123456789abc"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="use NAME or NAME@HASH"):
        check_key(key)
