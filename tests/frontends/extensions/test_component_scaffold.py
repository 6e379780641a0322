"""The files that an author of a component begins with."""

import ast
import tomllib
from pathlib import Path

import pytest

import kaa.ext.wasm
from kaa.ext.permissions import Permissions
from kaa.ext.places import ExtensionId
from kaa.ext.wasm.description import find_component
from kaa.frontends.extensions.scaffold import write_scaffold

_WIT = Path(kaa.ext.wasm.__path__[0]) / "wit" / "kaa-extension.wit"


@pytest.mark.parametrize("language", ["python", "rust"])
def test_a_scaffold_has_the_wit_and_a_valid_description(tmp_path: Path, language: str) -> None:
    folder = tmp_path / "mine"

    written = write_scaffold(folder, "my-words", f"wasm-{language}")

    assert sorted(written) == sorted(path for path in folder.rglob("*") if path.is_file())
    assert (folder / "wit" / _WIT.name).read_text() == _WIT.read_text()
    found = find_component(ExtensionId.at(folder))
    assert found.file == folder / "my-words.wasm"
    assert found.requested == Permissions(project="read")
    assert all("NAME" not in path.read_text() for path in written)


def test_the_sources_can_be_read(tmp_path: Path) -> None:
    write_scaffold(tmp_path / "python", "mine", "wasm-python")
    write_scaffold(tmp_path / "rust", "mine", "wasm-rust")

    ast.parse((tmp_path / "python" / "app.py").read_text())
    package = tomllib.loads((tmp_path / "rust" / "Cargo.toml").read_text())
    assert package["package"]["name"] == "mine"
    assert package["lib"]["crate-type"] == ["cdylib"]


@pytest.mark.parametrize(("name", "package"), [("my.comp", "my-comp"), ("7up", "kaa-7up")])
def test_the_package_of_rust_has_a_valid_name(tmp_path: Path, name: str, package: str) -> None:
    write_scaffold(tmp_path / "rust", name, "wasm-rust")

    assert tomllib.loads((tmp_path / "rust" / "Cargo.toml").read_text())["package"]["name"] == package
    assert find_component(ExtensionId.at(tmp_path / "rust")).file == tmp_path / "rust" / f"{name}.wasm"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        write_scaffold(tmp_path, "mine", "wasm-python")
