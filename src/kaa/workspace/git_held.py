"""Protected files and checkouts: git stops half way where it may not write one, and brings others for a moment."""

import hashlib
import os
from collections.abc import Mapping, Sequence

import msgspec

from kaa.hands.protected import is_protected
from kaa.workspace.git import Git, line_of
from kaa.workspace.protocol import CommandRequest, Workspace

_TIMEOUT_SECONDS = 5.0
_MAX_OUTPUT_BYTES = 1024 * 1024
_MAX_HELD = 100  # files in a question
_SHA1_LENGTH = 40
_MOST_CHECKOUTS = 5  # in one command
_UNWRITABLE = 'cd "$1" || exit; shift; for path; do [ -e "$path" ] && ! [ -w "$path" ] && printf "%s\\0" "$path"; done'


class HeldFiles(msgspec.Struct, frozen=True):
    """Files that commands may not write, and that a revision has otherwise or not at all.

    Attributes:
        paths: from the root of the repository.
        diff: of all protected files, from what is checked out to the revision; empty if it is too long.
        contents: of all protected files that the revision changes or adds, by absolute paths.
    """

    paths: tuple[str, ...]
    diff: str
    contents: dict[str, bytes] = {}


class HeldFilesOfGit:
    """What commands in a workspace may not write of the repository that it is in."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._git = Git(workspace)

    async def differing_in(self, revision: str) -> HeldFiles | None:
        """The protected files that a checkout of a revision would have to change; None if it can change all it has to.

        Args:
            revision: as the user writes it, also a branch that only the remote `origin` has.
        """
        for name in (revision, f"refs/remotes/origin/{revision}"):
            listing = ("--name-status", "-z", "--no-renames", "--end-of-options", "HEAD", name)
            if (answer := await self._git.ask("diff-tree", "-r", *listing)) is not None:
                words = os.fsdecode(answer.tail).split("\0")
                changed = dict(zip(words[1::2], words[::2], strict=False))
                protected = {path: how for path, how in changed.items() if is_protected(path.split("/"))}
                return await self._held(name, protected) if protected else None
        return None

    async def left_behind(self, contents: Mapping[str, bytes]) -> frozenset[str]:
        """Return those of some files that came with an earlier checkout, and that the present one does not have.

        Args:
            contents: of the files, by absolute paths.
        """
        if (answer := await self._git.ask("rev-parse", "--show-toplevel")) is None:
            return frozenset()
        below = f"{line_of(answer)}/"
        paths = {path.removeprefix(below): path for path in contents if path.startswith(below)}
        if not paths or (tracked := await self._git.ask("ls-files", "-z", "--full-name", "--", *contents)) is None:
            return frozenset()
        for name in os.fsdecode(tracked.tail).split("\0"):
            paths.pop(name, None)
        found: set[str] = set()
        for back in range(1, _MOST_CHECKOUTS + 1):
            listing = ("-r", "-z", "--full-tree", f"HEAD@{{{back}}}", "--")
            if not paths or (answer := await self._git.ask("ls-tree", *listing, *paths)) is None:
                break
            for line in os.fsdecode(answer.tail).split("\0")[:-1]:
                entry, _, name = line.partition("\t")
                _mode, kind, digest = entry.split(" ")
                if kind == "blob" and digest == _blob_digest(contents[paths[name]], len(digest)):
                    found.add(paths[name])
        return frozenset(found)

    async def _held(self, revision: str, protected: Mapping[str, str]) -> HeldFiles | None:
        """What of some files, of which the letters of `git diff` are given, is held."""
        top = await self._git.ask("rev-parse", "--show-toplevel")
        existing = [path for path, how in protected.items() if how != "A"][:_MAX_HELD]
        held = await self._unwritable(line_of(top), existing) if top is not None and existing else ()
        if top is None or not held:
            return None
        form = ("diff-tree", "-r", "-p", "--no-renames", "--end-of-options", "HEAD", revision, "--")
        shown = await self._git.ask(*form, *protected) if len(protected) <= _MAX_HELD else None
        contents = {}
        for path in (path for path, how in protected.items() if shown is not None and how != "D"):
            if (blob := await self._git.ask("cat-file", "blob", f"{revision}:{path}")) is not None:
                contents[os.path.join(line_of(top), path)] = blob.tail
        return HeldFiles(held, "" if shown is None else shown.tail.decode("utf-8", "replace"), contents)

    async def _unwritable(self, top: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of some files, from the root of the repository, that exist and cannot be written."""
        request = CommandRequest(
            ["/bin/sh", "-c", _UNWRITABLE, "sh", top, *paths],
            timeout=_TIMEOUT_SECONDS,
            tail_bytes=_MAX_OUTPUT_BYTES,
            spill=False,
            carries_findings=False,
            finds_installed=False,
        )
        try:
            result = await self._workspace.run(request)
        except OSError:
            return ()
        return tuple(os.fsdecode(path) for path in result.tail.split(b"\0") if path)


def _blob_digest(content: bytes, length: int) -> str:
    """Return the digest by which git names a content. `length`: of those of the repository, SHA-1 or SHA-256."""
    new = hashlib.sha1 if length == _SHA1_LENGTH else hashlib.sha256
    return new(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
