"""Adds to instructions what they import by `@path`: it is shown, hashed and trusted as a part of their text."""

import os
import posixpath
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from kaa.components.imports import imports_in
from kaa.shell.components.finding import UserTree
from kaa.workspace.protocol import FileInfo

MAX_LEVELS = 4  # as in Claude Code: an import in the file itself is of the first
_MAX_NAMES = 200  # of one level
_MOST_NAMED = 3
# What is meant as a file where there is none; other words after @ may be names of people or packages.
_DOCUMENTS = (".md", ".mdc", ".txt")


class ReadTree(Protocol):
    """What imports need of a workspace."""

    async def stat(self, path: str) -> FileInfo | None:
        """See `Workspace`."""
        ...

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        """See `Workspace`."""
        ...


class UserFiles(UserTree):
    """The user's own files: links among them lead wherever the user wants."""

    async def stat(self, path: str) -> None:
        """See `Workspace`: nothing is known of a file, so that it is where its path says."""


class WithImports(msgspec.Struct, frozen=True):
    """A text with what it imports.

    Attributes:
        data: the text, and after it each imported file under a line that names it.
        notices: which imports are left out and why, in sentences without their ends.
    """

    data: bytes
    notices: tuple[str, ...] = ()


async def with_imports(
    tree: ReadTree, path: str, data: bytes, inside: str, max_bytes: int, given: Collection[str] = ()
) -> WithImports:
    """Add what a text imports, file by file, each once.

    Args:
        tree: has the files.
        path: of the text, absolute.
        data: the text.
        inside: the directory that imports must not lead out of.
        max_bytes: what is beyond is cut.
        given: absolute paths of files that the model gets anyway.
    """
    return await _Expansion(tree, inside, max_bytes, {path, *given}).of(path, data)


class _Expansion:
    """The imports of one text, level by level: one request for the files of a level, and one for each that exists."""

    def __init__(self, tree: ReadTree, inside: str, max_bytes: int, seen: set[str]) -> None:
        self._tree = tree
        self._inside = inside
        self._max_bytes = max_bytes
        self._seen = seen
        self._left_out: dict[str, list[str]] = {}  # by reason

    async def of(self, path: str, data: bytes) -> WithImports:
        texts = {path: data}
        imported: dict[str, bytes] = {}
        for _ in range(MAX_LEVELS):
            texts = await self._read(self._wanted(texts))
            imported |= texts
            if not texts or sum(map(len, imported.values())) > self._max_bytes:  # the others would be cut
                break
        else:
            self._leave_out(f"it is more than {MAX_LEVELS} levels deep", filter(_is_document, self._wanted(texts)))
        base = posixpath.dirname(path)
        added = (
            f"\n\n[kaa: {posixpath.relpath(one, base)}, imported by @]\n".encode(errors="surrogateescape") + text
            for one, text in imported.items()
        )
        whole = b"".join([data, *added])[: self._max_bytes] if imported else data
        return WithImports(whole, tuple(f"{path}: {notice}" for notice in self._notices()))

    def _wanted(self, texts: dict[str, bytes]) -> list[str]:
        """The absolute paths that texts import and that were not met yet."""
        found: list[str] = []
        for path, data in texts.items():
            for name in imports_in(data.decode("utf-8", "replace")):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(path), os.path.expanduser(name)))
                if target in self._seen:
                    continue
                self._seen.add(target)
                if self._is_inside(target):
                    found.append(target)
                elif _is_document(target):
                    self._leave_out(f"it is outside {self._inside}", [target])
        self._leave_out(f"only {_MAX_NAMES} files of a level can be imported", filter(_is_document, found[_MAX_NAMES:]))
        return found[:_MAX_NAMES]

    async def _read(self, paths: Sequence[str]) -> dict[str, bytes]:
        """The files of `paths` that can be imported."""
        found = await self._tree.read_existing(paths, self._max_bytes) if paths else {}
        self._leave_out("there is no such file", [path for path in paths if path not in found and _is_document(path)])
        usable: dict[str, bytes] = {}
        inside = await self._real_path(self._inside) if found else ""
        for path in filter(found.__contains__, paths):
            real = await self._real_path(path)
            if not real.startswith(f"{inside.rstrip('/')}/"):
                self._leave_out(f"it leads out of {self._inside}", [path])
            elif real != path and real in self._seen:
                continue  # the same file by another name
            elif b"\0" in found[path]:
                self._leave_out("it is a binary file", [path])
            else:
                self._seen.add(real)
                usable[path] = found[path]
        return usable

    async def _real_path(self, path: str) -> str:
        try:
            info = await self._tree.stat(path)
        except OSError:
            info = None
        return path if info is None else info.real_path

    def _is_inside(self, path: str) -> bool:
        # git's own files may hold keys, and are no documents.
        return path.startswith(f"{self._inside.rstrip('/')}/") and "/.git/" not in path

    def _leave_out(self, reason: str, paths: Iterable[str]) -> None:
        for path in paths:
            self._left_out.setdefault(reason, []).append(path)

    def _notices(self) -> list[str]:
        notices: list[str] = []
        for reason, paths in self._left_out.items():
            names = ", ".join(" ".join(os.path.relpath(path, self._inside).split()) for path in paths[:_MOST_NAMED])
            more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
            notices.append(f"the import of {names}{more} is left out, because {reason}")
        return notices


def _is_document(path: str) -> bool:
    return path.endswith(_DOCUMENTS)
