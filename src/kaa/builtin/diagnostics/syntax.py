"""Syntax errors that an edit made."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from kaa.builtin.diagnostics.edited import EditedFile
from kaa.builtin.diagnostics.problems import Problem, new_problems
from kaa.hands.parsing import SCRIPT
from kaa.workspace.parsing import Parsed, Parsing, SyntaxFault
from kaa.workspace.protocol import CommandRequest, PipedPrograms, Workspace

_MAX_OUTPUT_BYTES = 64 * 1024
_LANGUAGES: Final = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), "python"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".sh", ".bash"), "bash"),
    ".json": "json",
    ".toml": "toml",
}
# Their programs read no comments and no comma behind the last entry, as editors and compilers do in other files.
_STRICT_JSON: Final = frozenset({"package.json", "package-lock.json", "npm-shrinkwrap.json", "composer.json"})
_SHEBANG = re.compile(rb"#!.*?\b(python|bash|sh|zsh|fish|ksh|dash)[\d.]*\b")
# The Python of the project, which may understand more than that of kaa.
_OTHER_PYTHON = (
    'for one in .venv/bin/python venv/bin/python python3; do command -v "$one" >/dev/null && exec "$one" "$@"; done'
)


def language_of(edit: EditedFile) -> str | None:
    """The language that kaa parses a file as, by the end of its name or its first line; None for none."""
    end = os.path.splitext(edit.path)[1].lower()
    language = "strict json" if os.path.basename(edit.path) in _STRICT_JSON else _LANGUAGES.get(end)
    if (end and language != "bash") or not edit.after.startswith(b"#!"):
        return language
    found = _SHEBANG.match(edit.after[:200])
    interpreter = found.group(1).decode() if found else ""
    return "python" if interpreter == "python" else "bash" if interpreter in ("bash", "sh") else None


def expect_syntax_problems(path: str, before: tuple[str, bytes] | None, workspace: Workspace) -> None:
    """A call is about to change a file: have what it writes parsed meanwhile.

    Args:
        before: its absolute path and what is in it; None for a new one.
    """
    named, content = before or (path, None)
    language = language_of(EditedFile(named, path, content, content or b""))
    if language is not None and isinstance(workspace, Parsing):
        workspace.expect_parsing(language, named, content)


async def syntax_problems(edit: EditedFile, workspace: Workspace, confined: Callable[[], Workspace]) -> list[Problem]:
    """The syntax errors that an edit made; none where no process can be run.

    Args:
        confined: gives the project as programs of its own see it, which may change nothing.
    """
    language = language_of(edit)
    if language is None or not isinstance(workspace, Parsing):
        return []
    problems = _new(edit, await workspace.parse(language, edit.before, edit.after), language)
    if problems and language == "python" and isinstance(other := confined(), PipedPrograms):
        second = await _parsed_by_project(edit, other)
        if second is not None and not second.after:
            return []  # it is of a newer version
    return problems


async def _parsed_by_project(edit: EditedFile, runs: PipedPrograms) -> Parsed | None:
    """What the Python of the project says; None if it says nothing."""
    before = edit.before
    head = {"language": "python", "before": None if before is None else len(before), "after": len(edit.after)}
    given = msgspec.json.encode(head) + b"\n" + (before or b"") + edit.after
    # -I and -S: nothing of the project is loaded, and no code of other packages at the start.
    argv = ("/bin/sh", "-c", _OTHER_PYTHON, "sh", "-I", "-S", SCRIPT)
    output = await answer_of(argv, given, runs, _MAX_OUTPUT_BYTES)
    try:
        return msgspec.json.decode(output, type=Parsed)
    except msgspec.DecodeError:
        return None


async def answer_of(argv: Sequence[str], given: bytes, runs: PipedPrograms, most: int) -> bytes:
    """What a program prints to its end, or `most` bytes of it; nothing if it does not read what it is given."""
    output = b""
    request = CommandRequest(argv, carries_findings=False, finds_installed=False)
    async with runs.piped_program(request) as program:
        program.writer.write(given)
        program.writer.write_eof()
        try:
            while len(output) < most and (chunk := await program.reader.read(most - len(output))):
                output += chunk
        except ConnectionError:
            return b""
    return output


def _new(edit: EditedFile, answer: Parsed | None, language: str) -> list[Problem]:
    if answer is None:
        return []
    source = f"Python {answer.python}" if language == "python" else language.rpartition(" ")[2]

    def problems(errors: Sequence[SyntaxFault]) -> list[Problem]:
        return [Problem(edit.name, error.line, error.column, error.message, source) for error in errors]

    texts = (edit.before or b"").decode("utf-8", "replace"), edit.after.decode("utf-8", "replace")
    return new_problems(problems(answer.before), problems(answer.after), *texts)
