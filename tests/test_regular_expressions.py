"""Constructs of regular expressions that some Python we support gets wrong."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[1] / "src"
# A group that repeats possessively, such as (?:ab?c)*+: before Python 3.11.5 it can match what the group does not
# (python/cpython#106052). A single character that does, [ab]*+, is read correctly, and so is the atomic (?>(?:ab?c)*).
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9]*,?[0-9]*\})\+")

# Without these quantifiers, perhaps in two literals that follow each other, a file need not be parsed, which takes
# seconds for all.
_POSSESSIVE_TEXT = re.compile(r"""[*+?}](?:["']\s*[bfru]*["'])?\+""", re.IGNORECASE)


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    source = path.read_text("utf-8")
    if not _POSSESSIVE_TEXT.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.parametrize("pattern", ["(?:a|b)*+", "(a)++", "(?:a)?+b", "(?:a){2,3}+"])
def test_a_possessive_group_is_found(pattern: str) -> None:
    assert _POSSESSIVE_GROUP.search(pattern)


@pytest.mark.parametrize("pattern", ["(?>(?:a|b)*)", "[ab]*+", r"\\s*+", r"\)*+"])
def test_what_every_python_reads_correctly_is_not(pattern: str) -> None:
    assert not _POSSESSIVE_GROUP.search(pattern)


def test_no_group_repeats_possessively() -> None:
    found = [
        f"{path.relative_to(_SOURCE)}:{line}: {text}"
        for path in sorted(_SOURCE.rglob("*.py"))
        for line, text in _texts(path)
        if _POSSESSIVE_GROUP.search(text)
    ]

    assert found == []
