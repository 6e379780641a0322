"""Long answers of a model, made by a formula: prose, lists, code, tables, other scripts, emoji."""

import itertools
import re
from collections.abc import Iterator

# About what tokenizers make of English and code.
_CHARACTERS_PER_TOKEN = 4

_WORDS = re.findall(
    r"\w+",
    "the loop reads a request and hands it to the worker that owns the file so nothing else may write while "
    "it works and every result is kept in order because callers rely on that when they continue later",
)

_CODE = """\
```python
def {name}(values: list[int], limit: int = {number}) -> dict[str, int]:
    \"\"\"Count what is below the limit.\"\"\"
    found = {{}}
    for index, value in enumerate(values):
        if value < limit and index % 2 == 0:
            found[f"item-{{index}}"] = value * {number}  # the rest is left out
    return found
```
"""

END = "That is all there is to say."


def tokens(count: int) -> tuple[str, ...]:
    """An answer of so many tokens; its last words are `END`."""
    text = ""
    for section in _sections():
        text += section
        if len(text) >= count * _CHARACTERS_PER_TOKEN:
            break
    return cut(text[: (count * _CHARACTERS_PER_TOKEN)] + f"\n\n{END}\n")


def table(rows: int) -> tuple[str, ...]:
    """An answer that is one table; its last words are `END`."""
    lines = "".join(f"| row {row} | {_sentence(row, 3)} | {row * 37 % 101} | 日本 {row} |\n" for row in range(rows))
    return cut(f"Here it is:\n\n| name | meaning | count | note |\n|---|---|--:|---|\n{lines}\n{END}\n")


def numbered_lines(count: int, label: str) -> str:
    """Short paragraphs, each with a number of its own."""
    return "".join(f"{label}-{number:03d} {_sentence(number, 5)}\n\n" for number in range(count))


def cut(text: str) -> tuple[str, ...]:
    """A text in pieces of a token each."""
    return tuple(text[start : start + _CHARACTERS_PER_TOKEN] for start in range(0, len(text), _CHARACTERS_PER_TOKEN))


def _sections() -> Iterator[str]:
    for number in itertools.count():
        yield f"## Part {number}\n\n{_paragraph(number)}\n\n"
        yield f"{_paragraph(number + 7)} `inline_{number}` **bold** *soft*.\n\n"
        yield "".join(f"- {_sentence(number + item, 9)}\n  - {_sentence(item, 4)} 🎉\n" for item in range(4)) + "\n"
        yield _CODE.format(name=f"count_{number}", number=number * 3 + 1) + "\n"
        yield f"日本語のテキストと絵文字 👩\u200d💻 {number}。{_paragraph(number + 3)}\n\n"
        rows = "".join(f"| {_sentence(row, 2)} | {row * number} | yes |\n" for row in range(6))
        yield f"| what | count | done |\n|---|--:|---|\n{rows}\n"


def _paragraph(seed: int) -> str:
    return " ".join(_sentence(seed + offset, 8 + offset) for offset in range(5))


def _sentence(seed: int, words: int) -> str:
    text = " ".join(_WORDS[(seed * 7 + index * 3) % len(_WORDS)] for index in range(words))
    return text.capitalize() + "."
