"""Patches as models of OpenAI write them: which files they add, delete and update, and how.

Source of the format: the instructions for `apply_patch` that OpenAI publishes with the prompting guides of GPT-4.1 and
GPT-5. Models wrap a patch in a here-document or a block of code now and then, and forget the first or the last line.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from kaa.builtin.replacement import EditError

_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_ADD: Final = "*** Add File: "
_DELETE: Final = "*** Delete File: "
_UPDATE: Final = "*** Update File: "
_MOVE: Final = "*** Move to: "
_END_OF_FILE: Final = "*** End of File"
_HEADINGS: Final = (_ADD, _DELETE, _UPDATE)


class Hunk(msgspec.Struct, frozen=True):
    """Lines that become others.

    Attributes:
        anchors: lines above the change, each below the one before it, such as the heads of a class and a method.
        lines: pairs of a sign and a text: ` ` stays, `-` goes, `+` comes.
        at_end: the lines are the last of the file.
    """

    anchors: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines as they are in the file."""
        return [text for sign, text in self.lines if sign != "+"]


class AddFile(msgspec.Struct, frozen=True):
    """A new file."""

    path: str
    content: str


class DeleteFile(msgspec.Struct, frozen=True):
    """A file that goes."""

    path: str


class UpdateFile(msgspec.Struct, frozen=True):
    """A file that changes. `target`: its new path; empty if it stays where it is."""

    path: str
    hunks: tuple[Hunk, ...]
    target: str = ""


FileChange: TypeAlias = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> tuple[FileChange, ...]:
    """The changes in a patch, in its order.

    Raises:
        EditError: it is none; the message says which line cannot be read.
    """
    lines = _inside(text.replace("\r\n", "\n").split("\n"))
    changes: list[FileChange] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            position += 1
            continue
        heading = next((one for one in _HEADINGS if line.startswith(one)), None)
        if heading is None:
            raise EditError(f"line {position + 1} of the patch begins no file: {line[:80]!r}. Use {_UPDATE}PATH.")
        path = line.removeprefix(heading).strip()
        if not path:
            raise EditError(f"line {position + 1} of the patch names no file.")
        end = next((at for at in range(position + 1, len(lines)) if lines[at].startswith(_HEADINGS)), len(lines))
        changes.append(_change(heading, path, lines[position + 1 : end]))
        position = end
    if not changes:
        raise EditError(f"the patch is empty. It begins with {_BEGIN}, and each file with {_UPDATE}PATH.")
    return tuple(changes)


def _inside(lines: list[str]) -> list[str]:
    """What is between the first and the last line of the patch."""
    begin = next((at + 1 for at, line in enumerate(lines) if line.strip() == _BEGIN), None)
    if begin is None:
        begin = next((at for at, line in enumerate(lines) if line.startswith(_HEADINGS)), len(lines))
    end = next((at for at in range(begin, len(lines)) if lines[at].strip() == _END), len(lines))
    return lines[begin:end]


def _change(heading: str, path: str, lines: Sequence[str]) -> FileChange:
    if heading == _DELETE:
        return DeleteFile(path)
    if heading == _ADD:
        while lines and not lines[-1].strip():
            lines = lines[:-1]  # of the patch, not of the file
        return AddFile(path, "".join(f"{line.removeprefix('+')}\n" for line in lines))
    target = ""
    if lines and lines[0].startswith(_MOVE):
        target, lines = lines[0].removeprefix(_MOVE).strip(), lines[1:]
    hunks = tuple(_hunks(path, lines))
    if not hunks and not target:
        raise EditError(f"the patch changes nothing in {path}.")
    return UpdateFile(path, hunks, target)


def _hunks(path: str, lines: Sequence[str]) -> Iterator[Hunk]:
    anchors: list[str] = []
    body: list[str] = []
    for line in lines:
        if line.startswith("@@"):
            if body:
                yield _hunk(path, anchors, body)
                anchors, body = [], []
            if anchor := line[2:].strip().removesuffix("@@").strip():
                anchors.append(anchor)
        elif line.strip() == _END_OF_FILE:
            yield _hunk(path, anchors, body, at_end=True)
            anchors, body = [], []
        else:
            body.append(line)
    if body:
        yield _hunk(path, anchors, body)


def _hunk(path: str, anchors: Sequence[str], body: Sequence[str], *, at_end: bool = False) -> Hunk:
    # An empty line is one of context that lost its blank.
    lines = tuple((line[:1] or " ", line[1:]) for line in body)
    if wrong := next((line for line in lines if line[0] not in " +-"), None):
        raise EditError(
            f"a line of the patch for {path} begins with neither a blank, + nor -: {''.join(wrong)[:80]!r}."
        )
    if all(sign == " " for sign, _ in lines):
        raise EditError(f"a hunk of the patch for {path} changes nothing: mark lines with + and -.")
    # `@@ -12,3 +12,4 @@` counts lines as another tool does, and models count wrongly.
    named = tuple(anchor for anchor in anchors if not anchor.startswith(("-", "+")))
    return Hunk(named, lines, at_end)
