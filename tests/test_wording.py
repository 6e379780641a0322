"""What people and models read is in plain English: words that the style rules out do not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kaa

_SOURCES = Path(kaa.__file__).parent
# Words that give a translation away, with what to write instead.
_INSTEAD = {
    r"\b(?:go|goes|going|went) on\b": "continue, resume",
    r"\bunder way\b": "running",
    r"\bof its own\b": "its own, separate",
    r"\b(?:is|are|was|were) told\b": "kaa tells, reports",
    r"\b(?:take|takes|taken|took) over\b(?! [\d{])": "apply, import",
    r"\bfor ever\b": "forever, permanently",
    r"\breckon(?:s|ed)?\b": "estimate, count",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair",
    r"\btells? of\b": "report",
    r"\bneeds? a yes\b": "needs approval",
    r"\bstands? above\b": "see above",
    r"\bhas it go\b": "continues it",
    r"\boutdates\b": "invalidates",
}
_BANNED = re.compile("|".join(_INSTEAD), re.IGNORECASE)
_CONTINUED = re.compile(r"""["']\s*[bfru]*["']|\\\n""", re.IGNORECASE)  # where a literal text has its next part
# Several words in a row: no names, patterns or lists of subcommands.
_SENTENCE = re.compile(r"(?:^|[\s(\"'`])[A-Za-z][\w'-]*[,:;]?(?: [\w`'{}/.-]+[,:;]?){3}")


def _is_documentation(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _texts(source: str) -> Iterator[tuple[int, str]]:
    """The literal texts of a module, without its documentation; of a formatted one, the parts together."""
    remaining: list[ast.AST] = [ast.parse(source)]
    while remaining:
        node = remaining.pop()
        if _is_documentation(node):
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
            remaining += [part for part in node.values if isinstance(part, ast.FormattedValue)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        else:
            remaining += ast.iter_child_nodes(node)


def _translated(source: str) -> list[str]:
    """The places in a module where a sentence has a word that the style rules out."""
    if not _BANNED.search(_CONTINUED.sub("", source)):
        return []  # two of three modules; to parse one takes ten times longer
    return [
        f"{line}: {found.group()!r} in {text[:120]!r}"
        for line, text in _texts(source)
        if (found := _BANNED.search(text)) and _SENTENCE.search(text)
    ]


@pytest.mark.parametrize("folder", sorted(path.name for path in _SOURCES.iterdir() if path.is_dir()))
def test_texts_use_the_usual_words(folder: str) -> None:
    found = [
        f"{path.relative_to(_SOURCES)}:{place}"
        for path in sorted((_SOURCES / folder).rglob("*.py"))
        for place in _translated(path.read_text())
    ]

    assert not found, "\n".join(found)


def test_the_command_line_uses_the_usual_words() -> None:
    assert not [place for path in _SOURCES.glob("*.py") for place in _translated(path.read_text())]


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('notice("the conversation goes on in a new process")', True),
        ('notice(f"{name} is told when it ends its turn")', True),
        ('notice(\n    "the conversation goes "\n    f"on in {name} for a while"\n)', True),
        ('notice("the conversation continues in a new process")', False),
        ('"""Tells whether the conversation goes on."""', False),
        ('WORDS = "go on"', False),
        ('PATTERN = re.compile(r"mend|amend")', False),
    ],
)
def test_the_check_finds_sentences_only(source: str, is_found: bool) -> None:
    assert bool(_translated(source)) == is_found
