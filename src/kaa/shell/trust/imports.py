"""Adds to instructions what they import by `@path`: it is shown, hashed and trusted as a part of their text."""

import os
import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, runtime_checkable

import msgspec

from kaa.components.imports import imports_in
from kaa.host.regular_files import beginning_of
from kaa.shell.components.finding import UserTree
from kaa.workspace.protocol import FileInfo, NamedFile

MAX_LEVELS = 4  # as in Claude Code: an import in the file itself is of the first
_MAX_NAMES = 200  # of one level
_MOST_NAMED = 3
# What is meant as a file where there is none; other words after @ may be names of people or packages.
_DOCUMENTS = (".md", ".mdc", ".txt")
_MISSING = "there is no such file"


class ReadTree(Protocol):
    """What imports need of a workspace."""

    async def stat(self, path: str) -> FileInfo | None: ...

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]: ...


@runtime_checkable
class HomeFiles(Protocol):
    """Reads what a text imports by `@~/…`: the part of `NamedFiles` that imports need."""

    async def read_named(self, path: str, max_bytes: int) -> NamedFile: ...


class PluginTexts(UserTree):
    """The files of a plugin, which import nothing else."""

    async def stat(self, path: str) -> None:
        """See `Workspace`: nothing is known of a file, so that it is where its path says."""


class UserFiles(PluginTexts):
    """The user's own files: links among them lead wherever the user wants, and they import documents of the home."""

    async def read_named(self, path: str, max_bytes: int) -> NamedFile:
        """See `NamedFiles`. Follows no link: a command could have put one there that leads to a secret."""
        real = os.path.realpath(path)  # noqa: ASYNC240 - one of them takes microseconds
        if real != os.path.join(os.path.realpath(_home()), os.path.relpath(path, _home())):  # noqa: ASYNC240
            raise PermissionError(0, "a part of its path is a link")
        return NamedFile(real, beginning_of(real, max_bytes), os.stat(real).st_size)


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
        path: of the text, absolute.
        inside: the directory that imports must not lead out of, except to documents in the user's home by `~/`.
        given: absolute paths of files that the model gets anyway.
    """
    return await _Expansion(tree, inside, max_bytes, {path, *given}).of(path, data)


def imported_paths(text: str, max_bytes: int) -> Iterator[str]:
    """Paths of what a text of the user's imports, and what that imports, whether they exist or not.

    Args:
        text: its absolute path.
        max_bytes: of each file, in which imports are looked for.
    """
    seen, pending = {text}, [(text, 0)]
    while pending:
        path, level = pending.pop()
        with suppress(OSError):
            for name in imports_in(beginning_of(path, max_bytes).decode("utf-8", "replace")):
                one = _target(path, name)
                is_read = _is_below(one, os.path.dirname(text)) or _is_below(one, _home())
                if is_read and one not in seen and not os.path.isdir(one):
                    seen.add(one)
                    yield one
                    if level + 1 < MAX_LEVELS:
                        pending.append((one, level + 1))


class _Expansion:
    """The imports of one text, level by level: one request for the files of a level, and one for each that exists."""

    def __init__(self, tree: ReadTree, inside: str, max_bytes: int, seen: set[str]) -> None:
        self._tree = tree
        self._inside = inside
        self._max_bytes = max_bytes
        self._seen = seen
        self._from_home: set[str] = set()  # what is read with the user's rights, and imports from there likewise
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
            f"\n\n[kaa: {self._name(one, base)}, imported by @]\n".encode(errors="surrogateescape") + text
            for one, text in imported.items()
        )
        whole = b"".join([data, *added])[: self._max_bytes] if imported else data
        return WithImports(whole, tuple(f"{path}: {notice}" for notice in self._notices()))

    def _wanted(self, texts: dict[str, bytes]) -> list[str]:
        """The absolute paths that texts import and that were not met yet."""
        found: list[str] = []
        for path, data in texts.items():
            for name in imports_in(data.decode("utf-8", "replace")):
                target = _target(path, name)
                if target in self._seen:
                    continue
                self._seen.add(target)
                if self._is_inside(target):
                    found.append(target)
                elif (name.startswith("~/") or path in self._from_home) and _is_below(target, _home()):
                    if _is_document(target):  # what has no such end may hold keys
                        self._from_home.add(target)
                        found.append(target)
                elif _is_document(target):
                    self._leave_out(f"it is outside {self._inside}", [target])
        self._leave_out(f"only {_MAX_NAMES} files of a level can be imported", filter(_is_document, found[_MAX_NAMES:]))
        return found[:_MAX_NAMES]

    async def _read(self, paths: Sequence[str]) -> dict[str, bytes]:
        """The files of `paths` that can be imported."""
        own = [path for path in paths if path not in self._from_home]
        found = await self._tree.read_existing(own, self._max_bytes) if own else {}
        self._leave_out(
            f"{_MISSING}, or kaa does not follow the link to it",
            [path for path in own if path not in found and _is_document(path)],
        )
        usable: dict[str, bytes] = {}
        inside = await self._real_path(self._inside) if found else ""
        for path in paths:
            if path in self._from_home:
                usable |= await self._read_home(path)
                continue
            if path not in found:
                continue
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

    async def _read_home(self, path: str) -> dict[str, bytes]:
        """A document of the user's home by its path, if it can be imported."""
        reason, text = "nothing of your home can be imported here", b""
        if isinstance(self._tree, HomeFiles):
            try:
                named = await self._tree.read_named(path, self._max_bytes)
            except FileNotFoundError:
                reason = _MISSING
            except OSError as error:
                reason = f"it cannot be read ({error.strerror or error})"
            else:
                text = named.data
                reason = (
                    "it may hold secrets"
                    if named.is_secret or not _is_document(named.real_path)
                    else "it is a binary file"
                    if b"\0" in text
                    else ""
                )
        if reason:
            self._leave_out(reason, [path])
            return {}
        return {path: text}

    def _name(self, path: str, base: str) -> str:
        if path in self._from_home:
            return f"~/{posixpath.relpath(path, _home())}"
        return posixpath.relpath(path, base)

    async def _real_path(self, path: str) -> str:
        try:
            info = await self._tree.stat(path)
        except OSError:
            info = None
        return path if info is None else info.real_path

    def _is_inside(self, path: str) -> bool:
        # git's own files may hold keys, and are no documents.
        return _is_below(path, self._inside) and "/.git/" not in path

    def _leave_out(self, reason: str, paths: Iterable[str]) -> None:
        for path in paths:
            self._left_out.setdefault(reason, []).append(path)

    def _notices(self) -> list[str]:
        notices: list[str] = []
        for reason, paths in self._left_out.items():
            names = ", ".join(" ".join(self._name(path, self._inside).split()) for path in paths[:_MOST_NAMED])
            more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
            notices.append(f"the import of {names}{more} is left out, because {reason}")
        return notices


def _target(path: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), os.path.expanduser(name)))


def _home() -> str:
    return os.path.expanduser("~")


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _is_document(path: str) -> bool:
    return path.endswith(_DOCUMENTS)
