from pathlib import Path

import pytest

from kaa.ext.errors import ExtensionError
from kaa.ext.kinds import extension_at
from kaa.ext.places import Kind, discover, entry_file, fingerprint, kind_of
from kaa.ext.process.host import ProcessHost


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
        extension_at(tmp_path / name, _no_processes, tmp_path)


def _no_processes() -> ProcessHost:
    raise AssertionError("this is no extension process")
