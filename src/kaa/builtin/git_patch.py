"""What a session changed as a patch that `git apply` takes: also new, deleted and renamed files, modes and binary ones.

The form is git's own (gitformat-diff, apply.c). Content that is not text in UTF-8 is written as binary.
"""

import hashlib
import os
import re
import zlib
from base64 import b85encode
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kaa.host.unified_diff import patch_hunks
from kaa.workspace.checkpoints.plans import FileDifference

_BINARY_LINE_BYTES = 52
_LINK = "120000"
_NO_BLOB = "0" * 40
_TO_QUOTE = re.compile(r'[\x00-\x1f\x7f"\\\ud800-\udfff]')
_ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


class GitPatch(msgspec.Struct, frozen=True):
    """A patch.

    Attributes:
        files: the part of each file that changed, in the order in which they are applied.
        left_out: the files that it does not change although the session did, each with the reason.
    """

    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.files)


class _Blob(NamedTuple):
    """A file as git has it. `mode`: as in git's trees."""

    content: bytes
    mode: str

    @property
    def name(self) -> str:
        """Git's id of the content."""
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content, usedforsecurity=False).hexdigest()

    @property
    def text(self) -> str | None:
        """The content, if it is text in UTF-8."""
        try:
            return None if b"\0" in self.content else self.content.decode()
        except UnicodeDecodeError:
            return None


class _Change(NamedTuple):
    """What happens to a file. `origin`: the path that it had before, if it is renamed."""

    path: str
    before: _Blob | None
    after: _Blob | None
    origin: str = ""


def git_patch(differences: Sequence[FileDifference]) -> GitPatch:
    """Return what changed files as a patch, relative to the project. Blocking: takes a while for long files."""
    changes: list[_Change] = []
    left_out: list[str] = []
    for one in differences:
        sides = tuple(zip((one.before, one.after), one.modes, strict=True))
        if one.path.startswith("/"):
            left_out.append(f"{one.path}: it is not in the project")
        elif any(content is None and mode is not None for content, mode in sides):
            left_out.append(f"{one.path}: its content is not kept")
        else:
            before, after = (None if content is None else _blob(content, mode) for content, mode in sides)
            if before is not None and after is not None and (before.mode == _LINK) != (after.mode == _LINK):
                changes += [_Change(one.path, before, None), _Change(one.path, None, after)]
            elif before != after:
                changes.append(_Change(one.path, before, after))
    return GitPatch(tuple(map(_written, _with_renames(changes))), tuple(left_out))


def _blob(content: bytes, mode: int | None) -> _Blob:
    return _Blob(content, _LINK if mode is None else "100755" if mode & 0o100 else "100644")


def _with_renames(changes: Sequence[_Change]) -> list[_Change]:
    """The changes, where a new file with the content of a deleted one is that one, renamed.

    Not at a path that has both, such as a file in place of a link: git refuses to rename to what it deletes.
    """
    came = {one.path for one in changes if one.before is None}
    went = {one.path for one in changes if one.after is None}
    gone = {
        one.before: one.path
        for one in changes
        if one.after is None and one.before is not None and one.before.content and one.path not in came
    }
    origins = {
        one.path: gone.pop(one.after)
        for one in changes
        if one.before is None and one.after is not None and one.after in gone and one.path not in went
    }
    renamed = set(origins.values())
    return [
        one._replace(before=one.after, origin=origins[one.path]) if one.path in origins else one
        for one in changes
        if one.path not in renamed
    ]


def _written(change: _Change) -> str:
    path, before, after, origin = change
    head = f"diff --git {_name('a', origin or path)} {_name('b', path)}\n"
    if origin:
        return f"{head}similarity index 100%\nrename from {_quoted(origin)}\nrename to {_quoted(path)}\n"
    mode = ""
    if before is None and after is not None:
        head += f"new file mode {after.mode}\n"
    elif after is None and before is not None:
        head += f"deleted file mode {before.mode}\n"
    elif before is not None and after is not None and before.mode != after.mode:
        head += f"old mode {before.mode}\nnew mode {after.mode}\n"
    elif before is not None:
        mode = f" {before.mode}"
    old, new = before or _Blob(b"", ""), after or _Blob(b"", "")
    if old.content == new.content and before is not None and after is not None:
        return head
    names = f"{before.name if before else _NO_BLOB}..{after.name if after else _NO_BLOB}"
    head += f"index {names}{mode}\n"
    if old.content == new.content:
        return head
    if old.text is None or new.text is None:
        return f"{head}GIT binary patch\n{_literal(new.content)}\n{_literal(old.content)}\n"
    from_name = f"--- {_name('a', path, ends_line=True)}" if before else "--- /dev/null"
    to_name = f"+++ {_name('b', path, ends_line=True)}" if after else "+++ /dev/null"
    return "\n".join([f"{head}{from_name}", to_name, *patch_hunks(old.text, new.text), ""])


def _name(side: str, path: str, *, ends_line: bool = False) -> str:
    """The name of a file on one side. Behind one with blanks that ends a line, git wants a tab."""
    name = _quoted(f"{side}/{path}")
    return f"{name}\t" if ends_line and " " in name and not name.startswith('"') else name


def _quoted(path: str) -> str:
    """A path as git writes it: in quotation marks and with escapes where a line cannot hold it as it is."""
    if not _TO_QUOTE.search(path):
        return path
    return f'"{_TO_QUOTE.sub(_escaped, path)}"'


def _escaped(found: "re.Match[str]") -> str:
    return _ESCAPES.get(found[0]) or "".join(f"\\{byte:03o}" for byte in os.fsencode(found[0]))


def _literal(content: bytes) -> str:
    """Content as a part of a binary patch: compressed, in lines that begin with their length."""
    packed = zlib.compress(content, 9)
    lines = [f"literal {len(content)}"]
    for start in range(0, len(packed), _BINARY_LINE_BYTES):
        piece = packed[start : start + _BINARY_LINE_BYTES]
        length = chr(ord("A") + len(piece) - 1) if len(piece) <= 26 else chr(ord("a") + len(piece) - 27)
        lines.append(length + b85encode(piece, pad=True).decode())
    return "\n".join([*lines, ""])
