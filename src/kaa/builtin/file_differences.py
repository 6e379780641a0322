"""What a session changed, by file: a line with figures for each, and the change as a unified diff."""

from collections.abc import Sequence

import msgspec

from kaa.builtin.amounts import counted
from kaa.host.unified_diff import hunks
from kaa.workspace.checkpoints.contract import Origin
from kaa.workspace.checkpoints.plans import FileDifference

_MAX_LINES = 5_000
_DOUBTS: dict[Origin, str] = {
    "call": "",
    "command": "",
    "background": "while only a background process ran, maybe by someone else",
}


class ShownDifference(msgspec.Struct, frozen=True):
    """A file that changed, for people.

    Attributes:
        path: of the file, in one line.
        summary: what happened to it, in few words: `changed +3 -1`.
        diff: a unified diff without names of files; empty where there is none to show.
        remark: what else is to be known of it; empty if nothing.
    """

    path: str
    summary: str
    diff: str = ""
    remark: str = ""


def shown(difference: FileDifference, *, most_lines: int | None = _MAX_LINES) -> ShownDifference:
    """A file that changed, compared. Blocking: takes a while for long files.

    Args:
        most_lines: of the diff; None for all.
    """
    before, after = difference.before or b"", difference.after or b""
    had, has = (mode is not None for mode in difference.modes)
    is_new, is_gone = difference.before is None and not had, difference.after is None and not has
    verb = "created" if is_new else "deleted" if is_gone else "changed"
    path = " ".join(difference.path.split())
    remark = "; ".join(filter(None, (difference.remark, _DOUBTS[difference.by])))
    if b"\0" in before or b"\0" in after:
        return ShownDifference(path, f"{verb}, binary", remark=remark)
    lines = list(hunks(_lines(before), _lines(after)))
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    if most_lines is not None and len(lines) > most_lines:
        remark = "; ".join(filter(None, (remark, f"only the first {counted(most_lines, 'line')} are shown")))
    figures = f"+{added} -{removed}" if lines or verb != "changed" else _modes(difference)
    return ShownDifference(path, f"{verb} {figures}", "\n".join(lines[:most_lines]), remark)


def table(files: Sequence[ShownDifference]) -> list[str]:
    """A line for each file, and one for all."""
    width = max((len(file.path) for file in files), default=0)
    lines = [f"{file.path:<{width}}  {file.summary}{f'  ({file.remark})' if file.remark else ''}" for file in files]
    return [*lines, counted(len(files), "file")]


def _modes(difference: FileDifference) -> str:
    before, after = difference.modes
    return f"mode {before:o} to {after:o}" if before is not None and after is not None else ""


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").removesuffix("\n").split("\n") if content else []
