"""Texts of tools name no other tool, which may not be active: they name shell commands, or say what is wrong."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import kaa.builtin
from tests.support.tables import each

_BUILTIN = Path(kaa.builtin.__file__).parent
# The modules whose texts reach models: the tools, and what they share.
_MODULES = sorted(
    {
        *(_BUILTIN / "tools").glob("*.py"),
        *(_BUILTIN / f"{name}.py" for name in ("file_paths", "text_edit", "nearest_text", "truncate", "images")),
    }
)


def _names() -> set[str]:
    return set(re.findall(r"(\w+)_tool\(", (_BUILTIN / "tools" / "__init__.py").read_text()))


def _texts(path: Path) -> Iterator[str]:
    """All strings of a module but docstrings; of one with values, the parts in between."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@each("path", _MODULES, ids=lambda path: path.name)
def test_no_text_names_a_tool(path: Path) -> None:
    names = "|".join(map(re.escape, _names()))
    assert "bash" in names
    recommends = re.compile(
        rf"\b(?:with|see|use|using|try|call|by|of|from|in) (?:the )?`?(?:{names})\b(?! for)|\bbash\b", re.IGNORECASE
    )

    assert [text for text in _texts(path) if " " in text and recommends.search(text)] == []
