"""What changed in a project's configuration and instructions since the user trusted them."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from kaa.shell.trust.configuration import ConfigurationFile

_CONTEXT_LINES = 3
# What a person reads before saying yes, and what is compared in no time.
_MAX_LINES = 400
_LEAST_LINES = 20
_MAX_COMPARED_LINES = 2_000


class KnownFile(msgspec.Struct, rename="camel", frozen=True):
    """A file as it was when it was trusted. `text`: its content, None if it was no text or too long to keep."""

    kind: Literal["file", "link", "other"]
    sha256: str
    executable: bool = False
    text: str | None = None


class Difference(msgspec.Struct, frozen=True):
    """What changed, by path. `diff`: unified diffs of what was kept, at most 400 lines in all.

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
    lines: list[str] = []
    paths = (*sorted((*changed, *removed)), *sorted(added))
    most = max(_MAX_LINES // max(len(paths), 1), _LEAST_LINES)  # of each: a long one hides no other one
    for path in paths:
        of_file = list(_compared(path, before.get(path), now.get(path)))
        lines += of_file[:most]
        if len(of_file) > most:
            lines.append(f"… {len(of_file) - most} more lines of {path} differ")
    return Difference(added, removed, changed, "\n".join(lines))


def same(before: KnownFile, after: ConfigurationFile) -> bool:
    """Whether a file is what it was."""
    one, other = before, known(after)
    return (one.kind, one.sha256, one.executable) == (other.kind, other.sha256, other.executable)


def _compared(path: str, before: KnownFile | None, after: ConfigurationFile | None) -> Iterator[str]:
    import difflib  # lazy: seldom needed

    if before is not None and after is not None:
        if before.kind != after.kind:
            yield f"{path}: was a {before.kind}, is a {after.kind}"
        if before.executable != after.executable:
            yield f"{path}: {'can be executed now' if after.executable else 'can no longer be executed'}"
    old, new = before.text if before else "", _text(after) if after else ""
    if old is None or new is None:
        yield f"{path}: too long to compare, or not text"
        return
    old_lines, new_lines = _lines(old), _lines(new)
    if len(old_lines) + len(new_lines) > _MAX_COMPARED_LINES:
        yield f"{path}: {len(old_lines)} lines before, {len(new_lines)} now, too many to be compared"
        return
    names = (path if before else "/dev/null", path if after else "/dev/null")
    yield from difflib.unified_diff(old_lines, new_lines, *names, n=_CONTEXT_LINES, lineterm="")


def _lines(text: str) -> list[str]:
    """Lines by line feeds alone, so that a change of other line ends shows."""
    return text.split("\n") if text else []


def _text(file: ConfigurationFile) -> str | None:
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
