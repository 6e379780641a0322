"""Programs that change to a directory which an option names, before they look for what their other words name."""

import os
import re
from collections.abc import Sequence

import msgspec

# Only where the manual of the program says so: in another one's line, the same option may mean anything.
_OPTIONS = (
    (re.compile(r"uvx?"), frozenset({"--directory"})),
    (re.compile(r"poetry"), frozenset({"--directory", "-C"})),
    (re.compile(r"g?make"), frozenset({"--directory", "-C"})),
    (re.compile(r"pnpm"), frozenset({"--dir", "-C"})),
    (re.compile(r"yarn|bun"), frozenset({"--cwd"})),
    (re.compile(r"env"), frozenset({"--chdir", "-C"})),
    (re.compile(r"mise"), frozenset({"--cd", "-C"})),
)
_BEFORE_THE_PROGRAM = frozenset({"run", "tool", "exec", "x"})


class WorkingDirectory(msgspec.Struct, frozen=True):
    """The directory that a program changes to.

    Attributes:
        path: as the command line has it.
        number: of the word that has it.
        word: this word, with another path in the place of `{}`.
    """

    path: str
    number: int
    word: str


def directory_of(words: Sequence[str]) -> WorkingDirectory | None:
    """The directory to which a program changes; None if it changes to none, or if that is not sure."""
    options = next((one for program, one in _OPTIONS if program.fullmatch(os.path.basename(words[0]))), frozenset())
    found: list[WorkingDirectory] = []
    number = 1
    while number < len(words):
        word = words[number]
        option, is_attached, value = word.partition("=")
        if option in options and is_attached:
            found.append(WorkingDirectory(value, number, f"{option}={{}}"))
        elif option in options and number + 1 < len(words):
            number += 1
            found.append(WorkingDirectory(words[number], number, "{}"))
        elif word[:2] in options and len(word) > len("-C"):
            found.append(WorkingDirectory(word[2:], number, f"{word[:2]}{{}}"))
        elif not word.startswith("-") and word not in _BEFORE_THE_PROGRAM:
            break  # what follows are words of the program that it starts
        number += 1
    return found[0] if len(found) == 1 else None
