import os
import sys
from pathlib import Path

import pytest

from kaa.ext.errors import ExtensionError
from kaa.ext.loader import load_extension
from tests.support.registries import LoadedRegistry

_SOURCE = """
def extend(kaa):
    async def hello(arguments, context):
        return None
    kaa.register_command("hello", "Say hello", hello)
"""


@pytest.mark.parametrize("as_folder", [False, True])
def test_an_extension_registers_itself(tmp_path: Path, as_folder: bool) -> None:
    path = tmp_path / ("mine" if as_folder else "mine.py")
    file = path / "__init__.py" if as_folder else path
    file.parent.mkdir(exist_ok=True)
    file.write_text(_SOURCE)
    registry = LoadedRegistry()

    registry.load("mine", load_extension(path))

    assert list(registry.commands) == ["hello"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def extend(api:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1", "defines no function extend"),
        ("API_VERSION = 'x'", "API_VERSION is 'x': use a number, such as 1"),
        (None, "no such Python file"),
    ],
)
def test_what_is_no_extension_is_named_with_the_reason(tmp_path: Path, source: str | None, expected: str) -> None:
    path = tmp_path / "mine.py"
    if source is not None:
        path.write_text(source)

    with pytest.raises(ExtensionError, match=expected) as caught:
        load_extension(path)

    assert str(path) in str(caught.value)


def test_a_change_of_the_same_size_within_a_second_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    words = tmp_path / "mine" / "words.py"
    words.parent.mkdir()
    (words.parent / "__init__.py").write_text("from .words import NAME\n" + _SOURCE.replace('"hello",', "NAME,"))
    for name in ("wave", "nods"):
        words.write_text(f"NAME = {name!r}\n")
        os.utime(words, (1_700_000_000, 1_700_000_000))
        registry = LoadedRegistry()

        registry.load("mine", load_extension(words.parent))

        assert list(registry.commands) == [name]
