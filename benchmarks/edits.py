"""Files of a project and edits that keep them valid: a module of Python's own library, and a `package.json`."""

import inspect
import json
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

_DEPENDENCIES = 80


class EditedFile(NamedTuple):
    """A file and the lines of it that are changed.

    Attributes:
        name: in the project.
        text: what it holds at first.
        lines: different lines, each of which is in the text once.
        changed: makes the new line.
    """

    name: str
    text: str
    lines: tuple[str, ...]
    changed: Callable[[str], str]

    def edit(self, number: int) -> dict[str, str]:
        """Return an edit of one place, as the tool `edit` takes it; each number stands for another place."""
        before, after = self.change(number)
        return {"oldText": before, "newText": after}

    def change(self, number: int) -> tuple[str, str]:
        """Return the line of an edit and the line that replaces it."""
        line = self.lines[number]
        return line, self.changed(line)

    def after(self, count: int) -> str:
        """Return the text after so many edits, from the first on."""
        text = self.text
        for number in range(count):
            text = text.replace(*self.change(number))
        return text


def python_file() -> EditedFile:
    """Return a module of about 500 lines; an edit adds a comment to a statement."""
    text = inspect.getsource(textwrap)
    lines = _once(text, lambda line: line.strip().startswith(("return ", "self.")))
    return EditedFile("module.py", text, lines, _with_comment)


def json_file() -> EditedFile:
    """Return a file of about 100 lines; an edit changes the version of a dependency."""
    dependencies = {f"package-{number}": f"^{number}.0.0" for number in range(_DEPENDENCIES)}
    scripts = {name: f"node scripts/{name}.js" for name in ("build", "lint", "start", "test")}
    package = {"name": "example", "version": "1.0.0", "private": True, "scripts": scripts, "dependencies": dependencies}
    text = json.dumps(package, indent=2) + "\n"
    return EditedFile("package.json", text, _once(text, lambda line: ".0.0" in line), _with_new_version)


def _once(text: str, fits: Callable[[str], bool]) -> tuple[str, ...]:
    """The lines that fit and whose text is nowhere else, also not as a part of another line."""
    counts = Counter(text.splitlines())
    return tuple(line for line in counts if fits(line) and text.count(line) == 1)


def _with_comment(line: str) -> str:
    return f"{line}  # changed"


def _with_new_version(line: str) -> str:
    return line.replace(".0.0", ".1.0")
