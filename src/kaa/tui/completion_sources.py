"""Completes what many programs have: slash commands, files by `@`, paths. What there is comes from outside."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from kaa.tui.completion import Completion, Completions

_MOST = 50

# The name of a command, behind what commands begin with, up to the caret; its arguments.
_COMMAND_NAME = re.compile(r"(\S*)")
_COMMAND = re.compile(r"(\S+) ([^\n]*)")
# `@` at the start of a word, and what of a path follows it; with a quotation mark it may have blanks.
_FILE = re.compile(r"""(?:(?<=[\s("'=,:])|^)@(?:"([^"\n]*)|([^\s"]*))\Z""")
_NAME = re.compile(r"(?:(?<=[\s(])|^)\$([A-Za-z0-9][\w:.-]*|)\Z")
# The same for a path; it may be quoted.
_PATH = re.compile(r"""(?:(?<=[\s(='])|^)(?:"([^"\n]*)|([^\s"]*))\Z""")
_OUTSIDE = ("/", "~/", "../")
_LOOK_BACK = 1024


class CommandEntry(NamedTuple):
    """A slash command.

    Attributes:
        name: without the slash.
        description: what it does.
        arguments: is given what was typed of its arguments, and calls back, at once or later on the thread of the
            interface, with what can stand in its place, each with a description; None if it takes none.
    """

    name: str
    description: str
    arguments: Callable[[str, Callable[[Iterable[tuple[str, str]]], None]], None] | None = None


class CommandCompletion:
    """Slash commands and their arguments, at the start of the text.

    Args:
        commands: those there are now.
        prefix: what commands begin with.
        pick: chooses those that fit what was typed; by default also names that only resemble it.
    """

    def __init__(
        self,
        commands: Callable[[], Sequence[CommandEntry]],
        prefix: str = "/",
        pick: Callable[[str, Sequence[CommandEntry]], Iterable[CommandEntry]] | None = None,
    ) -> None:
        self._commands = commands
        self._prefix = prefix
        self._pick = pick or _resembling

    def complete(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        """The names that fit, or what fits as an argument of the command."""
        if not text.startswith(self._prefix) or caret < len(self._prefix):
            return None
        before = text[len(self._prefix) : caret]
        if name := _COMMAND_NAME.fullmatch(before):
            return self._names(name[1], caret)
        if command := _COMMAND.fullmatch(before):
            # As soon as the name is typed, Enter runs the command without arguments: it must not take a suggestion.
            return self._arguments(command[1], command[2], caret) if command[2] or requested else None
        return None

    def _names(self, typed: str, caret: int) -> Completions | None:
        items = [
            Completion(
                f"{self._prefix}{command.name} ",
                command.name,
                command.description,
                submits=command.name.startswith(typed),
            )
            for command in self._pick(typed, self._commands())
        ]
        return Completions(0, caret, items) if items else None

    def _arguments(self, name: str, typed: str, caret: int) -> Completions | None:
        command = next((command for command in self._commands() if command.name == name), None)
        if command is None or command.arguments is None:
            return None
        completions = Completions(caret - len(typed), caret)
        is_answered = False

        def fill(found: Iterable[tuple[str, str]]) -> None:
            nonlocal is_answered
            is_answered = True
            # A directory that is typed completely needs no other key because its slash is missing.
            items = [Completion(value, value, about, submits=value == f"{typed}/") for value, about in found]
            completions.fill(items[:_MOST])

        command.arguments(typed, fill)
        return None if is_answered and not completions.items else completions


def _resembling(typed: str, commands: Sequence[CommandEntry]) -> Iterable[CommandEntry]:
    # Lazily: nobody has typed a command before the first frame.
    from kaa.tui.fuzzy import rank

    return rank(typed, commands, lambda command: command.name)


def beginning_with(typed: str, commands: Sequence[CommandEntry]) -> Iterable[CommandEntry]:
    """The commands whose names begin with what was typed."""
    return (command for command in commands if command.name.startswith(typed))


class PathIndex(Protocol):
    """Finds paths; `kaa.tui.fuzzy.FuzzyIndex` is one."""

    def search(self, query: str, limit: int, /) -> list[str]:
        """The paths that fit best; directories end with a slash."""


class FileCompletion:
    """Files behind an `@`: those of the project while they are typed; paths that lead out of it when asked for.

    Args:
        index: the paths as far as they are known; None as long as they are not.
        ask: see `PathCompletion`.
        others: is given what is typed, and calls back, at once or later on the thread of the interface, with what else
            can stand there, each with a description; what ends with punctuation can be completed further.
    """

    def __init__(
        self,
        index: Callable[[], PathIndex | None],
        ask: Callable[[str, Callable[[Sequence[str]], None]], None],
        others: Callable[[str, Callable[[Iterable[tuple[str, str]]], None]], None] = lambda _typed, _found: None,
    ) -> None:
        self._index = index
        self._ask = ask
        self._others = others

    def complete(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        """The files and directories that fit."""
        match = _FILE.search(text, max(0, caret - _LOOK_BACK), caret)
        if match is None:
            return None
        typed = match[1] or match[2] or ""
        if typed.startswith(_OUTSIDE):
            return self._outside(typed, caret - len(match[0]), caret) if requested else None
        index = self._index()
        files = [] if index is None else [_file(path) for path in index.search(typed, _MOST) if path != typed]
        completions = Completions(caret - len(match[0]), caret, files)

        def fill(found: Iterable[tuple[str, str]]) -> None:
            others = [_other(value, description) for value, description in found][:_MOST]
            if others:
                # Behind the files: what is chosen already stays where it is.
                completions.fill([*files[: _MOST - len(others)], *others])

        self._others(typed, fill)
        return completions

    def _outside(self, typed: str, start: int, caret: int) -> Completions:
        completions = Completions(start, caret)
        self._ask(typed, lambda paths: completions.fill([_file(path) for path in paths[:_MOST]]))
        return completions


class NameCompletion:
    """Names behind a `$` at the start of a word.

    Args:
        entries: those there are now, with descriptions.
    """

    def __init__(self, entries: Callable[[], Sequence[tuple[str, str]]]) -> None:
        self._entries = entries

    def complete(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        """The names that fit."""
        match = _NAME.search(text, max(0, caret - _LOOK_BACK), caret)
        entries = self._entries() if match else ()
        if match is None or not entries or not (match[1] or requested):
            return None
        from kaa.tui.fuzzy import rank  # lazily, as above

        found = [Completion(f"${name} ", name, about) for name, about in rank(match[1], entries, lambda one: one[0])]
        return Completions(caret - len(match[0]), caret, found[:_MOST]) if found else None


class PathCompletion:
    """Paths that are typed out: `./`, `../`, `~/`, `/`, or just a name. Only when asked for.

    Args:
        ask: is given the path as far as it is typed, and calls back, at once or later on the thread of the interface,
            with the paths that begin so, directories with a slash at their end.
    """

    def __init__(self, ask: Callable[[str, Callable[[Sequence[str]], None]], None]) -> None:
        self._ask = ask

    def complete(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        """The paths that begin with the word at the caret."""
        match = _PATH.search(text, max(0, caret - _LOOK_BACK), caret) if requested else None
        if match is None:
            return None
        completions = Completions(caret - len(match[0]), caret)
        self._ask(match[1] or match[2] or "", lambda paths: completions.fill([_path(path) for path in paths[:_MOST]]))
        return completions


def _file(path: str) -> Completion:
    directory, name = _split(path)
    return Completion(f"@{_quoted(path)}{_end(path)}", name, directory, is_partial=path.endswith("/"))


def _other(value: str, description: str) -> Completion:
    goes_on = not value[-1:].isalnum()
    quoted = value if not re.search(r"\s", value) else f'"{value}' if goes_on else f'"{value}"'
    return Completion(f"@{quoted}{'' if goes_on else ' '}", value, description, is_partial=goes_on)


def _path(path: str) -> Completion:
    return Completion(_quoted(path) + _end(path), _split(path)[1], is_partial=path.endswith("/"))


def _end(path: str) -> str:
    """A file is a word of its own; what is in a directory may follow."""
    return "" if path.endswith("/") else " "


def _quoted(path: str) -> str:
    """A path with blanks in quotation marks; those of a directory stay open."""
    if not re.search(r"\s", path):
        return path
    return f'"{path}' if path.endswith("/") else f'"{path}"'


def _split(path: str) -> tuple[str, str]:
    """Directory and name, both with the slash that they end with."""
    at = path.rstrip("/").rfind("/") + 1
    return path[:at], path[at:]
