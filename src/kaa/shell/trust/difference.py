"""What changed in a project's configuration and instructions since the user trusted them."""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from kaa.shell.trust.configuration import ConfigurationFile

# What a person can look at in pages before saying yes. A project's configuration has 2 MiB at most, an extension more.
# Painting them takes a second.
_MAX_LINES = 10_000
_MAX_CHARACTERS = 1024 * 1024
# What is compared in a moment (1,000 lines with as many: 50 ms at worst); of more, everything is shown but equal ends.
_MAX_COMPARED = 1_000_000
_MAX_COMPARED_CHARACTERS = 1024 * 1024
_MAX_COMPARED_LINES_OF_ALL = 40_000
_LEAST_LINES = 20
# The bytes that text has none of, and how much of a file is others where it is text.
_OF_NO_TEXT = bytes({*range(32), 127} - set(b"\t\n\r\f\v\x1b"))
_LEAST_TEXT = 0.95


class KnownFile(msgspec.Struct, rename="camel", frozen=True):
    """A file as it was when it was trusted. `text`: its content, None if it was no text or too long to keep."""

    kind: Literal["file", "link", "other"]
    sha256: str
    executable: bool = False
    text: str | None = None


class Difference(msgspec.Struct, frozen=True):
    """What changed, by path. `diff`: unified diffs, or the whole text where nothing can be compared with it.

    Names and texts are the project's: for a terminal they have to be sanitized.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    diff: str = ""


def known(file: ConfigurationFile) -> KnownFile:
    """The file as it is kept."""
    import hashlib  # lazy, as wherever trust needs it

    return KnownFile(file.kind, hashlib.sha256(file.data).hexdigest(), file.executable, _text(file))


def difference(before: dict[str, KnownFile], after: tuple[ConfigurationFile, ...]) -> Difference:
    """How `after` differs from `before`."""
    now = {file.path: file for file in after}
    changed = tuple(path for path, file in now.items() if path in before and not same(before[path], file))
    added = tuple(path for path in now if path not in before)
    removed = tuple(path for path in before if path not in now)
    paths = (*sorted((*changed, *removed)), *sorted(added))
    room, shown = _Room(len(paths)), list[str]()
    for number, path in enumerate(paths):
        if room.is_used_up:
            room.is_cut = True
            shown.append(f"… {len(paths) - number} more files differ, {path} and those behind it by name")
            break
        shown += room.fitting(path, _compared(path, before.get(path), now.get(path), room))
    if room.is_cut:
        shown.insert(
            0, "Not all that differs is shown here: it is too much. Lines that begin with … say what is left out."
        )
    return Difference(added, removed, changed, "\n".join(shown))


def same(before: KnownFile, after: ConfigurationFile) -> bool:
    """Whether a file is what it was."""
    import hashlib  # lazy, as above

    if (before.kind, before.executable) != (after.kind, after.executable):
        return False
    return before.sha256 == hashlib.sha256(after.data).hexdigest()


def unified(old: str, new: str, names: tuple[str, str], compares: bool = True) -> Iterator[str]:
    """A unified diff of two texts, in a moment. What would take longer is shown as gone and come.

    Args:
        names: of both, for the first two lines.
        compares: whether to look for lines that both have; else only those at their ends are left out.
    """
    from kaa.host.unified_diff import hunks  # lazy: seldom needed

    if old == new:
        return
    yield from (f"--- {names[0]}", f"+++ {names[1]}")
    if len(old) > 1 and len(new) > 1 and old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]  # else both have one more, empty line
    if len(old) + len(new) <= _MAX_COMPARED_CHARACTERS:
        yield from hunks(_lines(old), _lines(new), max_compared=_MAX_COMPARED if compares else 0)
    else:
        yield from hunks(_first_lines(old), _first_lines(new), max_compared=0)


class _Room:
    """How much of a difference is shown: a long file hides no other one."""

    def __init__(self, files: int) -> None:
        self._lines_of_each = max(_MAX_LINES // max(files, 1), _LEAST_LINES)
        self._characters_of_each = max(_MAX_CHARACTERS // max(files, 1), _LEAST_LINES * 100)
        self._lines, self._characters = 0, 0  # that are shown
        self._spare_lines, self._spare_characters = 0, 0
        self._compared = 0
        self.is_cut = False

    @property
    def is_used_up(self) -> bool:
        """Whether no other file can be shown."""
        return self._lines >= _MAX_LINES or self._characters >= _MAX_CHARACTERS

    def compares(self, lines: int) -> bool:
        """Whether so many more lines can be compared, of all files."""
        self._compared += lines
        return self._compared <= _MAX_COMPARED_LINES_OF_ALL

    def fitting(self, path: str, lines: Iterable[str]) -> Iterator[str]:
        """The first lines of a file's difference, and how many more there are. What one file leaves serves the next."""
        self._spare_lines += self._lines_of_each
        self._spare_characters += self._characters_of_each
        left_out = 0
        for line in lines:
            if left_out or not self._spare_lines or len(line) > self._spare_characters:
                left_out += 1
                continue
            self._spare_lines, self._lines = self._spare_lines - 1, self._lines + 1
            self._spare_characters -= len(line)
            self._characters += len(line)
            yield line
        if left_out:
            self.is_cut = True
            yield f"… {left_out} more lines of {path} differ"


def _compared(path: str, before: KnownFile | None, after: ConfigurationFile | None, room: _Room) -> Iterator[str]:
    if before is not None and after is not None and (before.kind, before.executable) != (after.kind, after.executable):
        if before.kind != after.kind:
            yield f"{path}: was a {before.kind}, is a {after.kind}"
        if before.executable != after.executable:
            yield f"{path}: {'can be executed now' if after.executable else 'can no longer be executed'}"
        if before.sha256 == known(after).sha256:
            return
    names = (path if before else "/dev/null", path if after else "/dev/null")
    new = _shown_text(after) if after else ""
    if new is None:
        yield f"{path}: its content is not text, or too long to be shown"
        return
    old = before.text if before else ""
    if old is None:
        yield f"{path}: there is no text to compare it with: all of it as it is now"
        old = ""
    compares = room.compares(old.count("\n") + new.count("\n"))
    yield from map(_shown_line, unified(old, new, names, compares))


def _lines(text: str) -> list[str]:
    """Lines by line feeds alone, so that a change of other line ends shows."""
    return text.split("\n") if text else []


def _first_lines(text: str) -> list[str]:
    """As many lines as can be shown, and the rest as one."""
    return text.split("\n", _MAX_LINES) if text else []


def _text(file: ConfigurationFile) -> str | None:
    """The content, to be kept; None if it is too long for that, or no text."""
    if len(file.data) > _MAX_COMPARED_CHARACTERS:
        return None
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _shown_text(file: ConfigurationFile) -> str | None:
    """The content, with surrogates for what is no UTF-8; None if it is no text, as programs and pictures.

    A null byte alone hides nothing: shells and JavaScript pass over it.
    """
    if len(file.data.translate(None, _OF_NO_TEXT)) < len(file.data) * _LEAST_TEXT:
        return None
    return file.data.decode("utf-8", "surrogateescape")


def _shown_line(line: str) -> str:
    """A line of a difference with null bytes and what is no UTF-8 as escapes."""
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").replace("\0", "\\x00")
