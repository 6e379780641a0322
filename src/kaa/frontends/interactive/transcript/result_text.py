"""The text of a tool's result, which is written for the model, taken apart for people."""

import re
from typing import NamedTuple

# Lines that our tools, and pi's, write behind what a tool gave: what is missing, and how a command ended.
_NOTE = re.compile(
    r"\[(?:Lines \d|Showing lines \d|The last |Line \d+ is longer|The file is empty|\d+ background process|Process \d+:"
    r"|Meanwhile, not by this command|stopped at \d|the search took|long lines cut|\d+ of \d+ (?:lines|names) shown)"
    r"|Command (?:exited with code|was ended by signal|timed out after|aborted)"
    r"|(?:Interrupted|Stopped) by the user before"
)
_SANDBOX = "[sandbox] "
_NO_OUTPUT = "(no output)"
_NOTE_CHARACTERS = 8192


class ResultText(NamedTuple):
    """What the tool gave, and what was remarked about it. `blocked`: what the sandbox stopped."""

    output: str
    notes: list[str]
    blocked: list[str]


def take_apart(text: str) -> ResultText:
    """The output of a tool without the paragraphs of remarks at its end."""
    notes: list[str] = []
    blocked: list[str] = []
    rest = text
    while rest:
        before, _, paragraph = rest.rpartition("\n\n")
        lines = paragraph.split("\n") if len(paragraph) <= _NOTE_CHARACTERS else []
        if not lines or not all(map(_is_note, lines)):
            break
        blocked[:0] = [line.removeprefix(_SANDBOX) for line in lines if line.startswith(_SANDBOX)]
        notes[:0] = [_without_brackets(line) for line in lines if not line.startswith(_SANDBOX)]
        rest = before
    return ResultText("" if rest == _NO_OUTPUT else rest, notes, blocked)


def _is_note(line: str) -> bool:
    return line.startswith(_SANDBOX) or _NOTE.match(line) is not None


def _without_brackets(line: str) -> str:
    return line[1:-1] if line.startswith("[") and line.endswith("]") else line
