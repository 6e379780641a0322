"""Errors that ruff finds in an edited file, in projects that use ruff: those that are mistakes, no matters of style."""

import os
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from kaa.builtin.diagnostics.edited import EditedFile
from kaa.builtin.diagnostics.problems import Problem, new_problems
from kaa.builtin.diagnostics.syntax import answer_of
from kaa.workspace.protocol import PipedPrograms, Workspace

_MAX_OUTPUT_BYTES = 1024 * 1024
# Broken formats and literals, invalid syntax in places, and names that do not exist. An unused import is often one that
# the next edit uses.
_RULES = "E9,F5,F63,F7,F82"
CONFIGURATIONS: Final = ("ruff.toml", ".ruff.toml", "pyproject.toml")
# That of the project first.
_RUFF = (
    'for one in .venv/bin/ruff venv/bin/ruff ruff; do command -v "$one" >/dev/null && exec "$one" "$@"; done; exit 127'
)


class _Location(msgspec.Struct, frozen=True):
    row: int = 1
    column: int = 1


class _Finding(msgspec.Struct, frozen=True):
    """What ruff prints of an error, as far as it is used (`--output-format json`)."""

    message: str
    location: _Location = _Location()
    code: str | None = None


def is_python(path: str) -> bool:
    """Whether ruff reads a file."""
    return os.path.splitext(path)[1] in (".py", ".pyi")


def ruff_is_used(configurations: Mapping[str, bytes]) -> bool:
    """Whether a project is configured for ruff, by the contents of those of `CONFIGURATIONS` that it has."""
    return any(name != "pyproject.toml" or b"[tool.ruff" in data for name, data in configurations.items())


async def ruff_problems(edit: EditedFile, confined: Callable[[], Workspace]) -> list[Problem]:
    """The errors that an edit made in a project that uses ruff; none where there is none.

    Args:
        confined: gives the project as programs of its own see it, which may change nothing.
    """
    if not is_python(edit.path):
        return []
    runs = confined()
    if not isinstance(runs, PipedPrograms):
        return []
    after = await _check(edit, edit.after, runs)
    before = await _check(edit, edit.before, runs) if after and edit.before is not None else []
    texts = (edit.before or b"").decode("utf-8", "replace"), edit.after.decode("utf-8", "replace")
    return new_problems(before, after, *texts)


async def _check(edit: EditedFile, content: bytes, runs: PipedPrograms) -> list[Problem]:
    arguments = ("check", "--quiet", "--no-cache", "--select", _RULES, "--output-format", "json")
    argv = ("/bin/sh", "-c", _RUFF, "sh", *arguments, "--stdin-filename", edit.path, "-")
    try:
        output = await answer_of(argv, content, runs, _MAX_OUTPUT_BYTES)
        findings = msgspec.json.decode(output, type=tuple[_Finding, ...])
    except msgspec.DecodeError:
        return []
    return [
        Problem(edit.name, one.location.row, one.location.column, one.message, f"ruff {one.code or ''}".rstrip())
        for one in findings
    ]
