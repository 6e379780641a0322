"""Protected files and checkouts: git stops half way where it may not write one, and brings others for a moment."""

import asyncio
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kaa.hands.protected import is_protected
from kaa.host.paths import is_below
from kaa.host.unified_diff import patch_hunks
from kaa.workspace.git import ProjectRepository, line_of
from kaa.workspace.protocol import CommandRequest, Workspace

_TIMEOUT_SECONDS = 5.0
_MAX_OUTPUT_BYTES = 1024 * 1024
_MAX_HELD = 100  # files in a question
_MOST_CHANGED = 2_000  # files that a stash takes
_MAX_LINES = 5_000  # of a file, to be compared in a moment
_SHA1_LENGTH = 40
_MOST_COMMITS = 32  # that a command applies
_LOOKS = 1_000  # at a name, in some hundredths of a second: a command may move it to and fro
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_ESCAPE = re.compile(rb"\\([0-7]{3})")  # of blanks, proc_pid_mountinfo(5)
WITHOUT = ":(top,exclude)"
"""The beginning of a pathspec that leaves something at the top of the repository out."""
_MOST_CHECKOUTS = 5  # in one command
# Commands made it, or the user did since the sandbox was set up. So nothing must be lost with it that no branch has:
# changes, untracked and ignored files. Its own index may hide changes.
_FREE_WORKTREE = """
cd "$1" && place=$(git rev-parse --absolute-git-dir) && [ -w "$place/commondir" ] && [ -w .git ] || exit
git symbolic-ref -q HEAD && git diff-index --quiet --cached HEAD -- && ! git ls-files --others | grep -q . || exit
export GIT_INDEX_FILE=$(mktemp -d)/index
git read-tree HEAD && git update-index --refresh
free=$?
rm -rf "$(dirname "$GIT_INDEX_FILE")"
exit $free
"""
_LED = "git or another program obeys what is behind the link {}"
_LINK = "120000"
_ALL_LINKS = 'cd "$1" && find . "(" -name .git -o -name node_modules -o -name .venv ")" -prune -o -type l -print0'
_UNWRITABLE = 'cd "$1" || exit; shift; for path; do [ -e "$path" ] && ! [ -w "$path" ] && printf "%s\\0" "$path"; done'


class _Change(NamedTuple):
    """What `git diff-tree --raw` says of a file: modes, names of contents and a letter."""

    old_mode: str
    new_mode: str
    old: str
    new: str
    letter: str


class HeldFiles(msgspec.Struct, frozen=True):
    """Files that commands may not write, and that a revision has otherwise or not at all.

    Attributes:
        paths: from the root of the repository.
        diff: of all protected files, from what is checked out to the revision; empty if it is too long.
        contents: of all protected files that the revision changes or adds, by absolute paths.
        remedy: a command that does the same without them; empty if there is none.
        without: pathspecs that leave them out.
        objection: why no yes lets git change them, a sentence without a full stop; empty if one does.
        commits: which ones the names of the command mean, by these.
    """

    paths: tuple[str, ...]
    diff: str
    contents: dict[str, bytes] = {}
    remedy: str = ""
    without: tuple[str, ...] = ()
    objection: str = ""
    commits: dict[str, str] = {}


class Incoming(msgspec.Struct, frozen=True):
    """What a command of git writes into the working tree. One of the first three is not empty.

    Attributes:
        revision: whose files it then has, as the user writes it, also a branch that only the remote `origin` has.
        commits: whose changes it makes; an entry of the stash is one, too.
        patches: files with the changes, and options that say what of them counts.
        merged: of the revision, what has changed since the last common commit.
        reverted: it takes the changes of the commits back.
        branch: a branch of this name goes before a tag.
        paths: nothing but these of the revision, and what is below them; empty for all.
    """

    revision: str = ""
    commits: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    merged: bool = False
    reverted: bool = False
    branch: bool = False
    paths: tuple[str, ...] = ()


class Taken(msgspec.Struct, frozen=True):
    """What a command of git takes away from the working tree that is not committed.

    Attributes:
        changes: those of files that git tracks.
        untracked: files that it does not track and does not ignore.
        ignored: files that it ignores.
        directories: whole directories of such files, too.
        spared: patterns of files that stay, as in `.gitignore`.
    """

    changes: bool = False
    untracked: bool = False
    ignored: bool = False
    directories: bool = True
    spared: tuple[str, ...] = ()


class HeldFilesOfGit:
    """What commands in a workspace may not write of the repository that it is in.

    Args:
        workspace: where the commands run.
        executed: real paths of what kaa executes and obeys, such as a skill of the user's in its own repository.
        home: the user's home directory.
    """

    def __init__(self, workspace: Workspace, executed: Sequence[str] = (), home: str = "") -> None:
        self._workspace = workspace
        self._home = home
        self._named_of: dict[str, tuple[str, ...]] = {}
        self._git = ProjectRepository(workspace)
        self._executed = executed

    async def written(self, written: Incoming) -> HeldFiles | None:
        """The protected files that a command would have to change; None if it can change all it has to, or not known.

        Args:
            written: what the command writes.
        """
        if written.patches:
            return await self._held_of_patches(written.patches)
        if written.commits:
            return await self._held_of_commits(written.commits, is_reverted=written.reverted)
        if written.paths and await self._is_below_the_top():
            return None  # they are named from here, and what git says of them from there
        return await self.differing_in(
            written.revision, is_merged=written.merged, is_branch=written.branch, paths=written.paths
        )

    async def _is_below_the_top(self) -> bool:
        """Whether the project is a directory of its repository, and not all of it."""
        prefix = await self._git.ask("rev-parse", "--show-prefix")
        return prefix is None or line_of(prefix) != ""

    async def differing_in(
        self, revision: str, *, is_merged: bool = False, is_branch: bool = False, paths: Sequence[str] = ()
    ) -> HeldFiles | None:
        """The protected files that a checkout of a revision would have to change; None if it can change all it has to.

        Args:
            revision: see `Incoming`.
            is_merged: only what has changed in it since the last common commit counts.
            is_branch: see `Incoming`.
            paths: likewise.
        """
        first = (f"refs/heads/{revision}",) if is_branch else ()
        for name in (*first, revision, f"refs/remotes/origin/{revision}"):
            changes = await self._brought(name, paths, is_merged=is_merged)
            if changes is None:
                continue
            if not changes or await self._held(changes) is None:
                return None
            meant = await self._meant(name)
            if not meant:  # git took too long: what was shown is compared as a whole after a yes
                return await self._held(changes)
            if len(meant) != 1:
                held = await self._held(changes)
                objection = f"commands move {revision} at the moment"
                return None if held is None else msgspec.structs.replace(held, objection=objection)
            held = await self._held(await self._brought(next(iter(meant)), paths, is_merged=is_merged) or [])
            return None if held is None else msgspec.structs.replace(held, commits={revision: meant.pop()})
        return None

    async def _brought(self, name: str, paths: Sequence[str], *, is_merged: bool) -> "list[tuple[str, _Change]] | None":
        """What a checkout or a merge of a revision changes, by path; None if git does not know it."""
        base = await self._git.ask("merge-base", "--end-of-options", "HEAD", name) if is_merged else None
        return await self._changes("HEAD" if base is None else line_of(base), name, paths)

    async def _meant(self, name: str) -> set[str]:
        """The objects that a name means, of the moments that some looks at it take."""
        answer = await self._git.ask("rev-parse", *[name] * _LOOKS)
        return set() if answer is None else {*os.fsdecode(answer.tail).splitlines()}

    async def _changes(self, before: str, after: str, paths: Sequence[str] = ()) -> "list[tuple[str, _Change]] | None":
        """What changes between two revisions, by path; None if git does not know one of them."""
        listing = ("--raw", "-z", "--no-abbrev", "--no-renames", "--end-of-options", before, after, "--", *paths)
        if (answer := await self._git.ask("diff-tree", "-r", *listing)) is None:
            return None
        words = os.fsdecode(answer.tail).split("\0")
        if not words[0].startswith(":") and words != [""]:  # one of the two was a path
            return None
        raw = zip(words[1::2], words[::2], strict=False)
        return [(path, _Change(*change.removeprefix(":").split(" "))) for path, change in raw]

    async def _held_of_commits(self, commits: Sequence[str], *, is_reverted: bool) -> HeldFiles | None:
        """What is held of what the first of some commits change, each compared with its first parent."""
        answer = await self._git.ask("rev-list", "--no-walk=unsorted", "--parents", "--end-of-options", *commits)
        changes: list[tuple[str, _Change]] = []
        lines = [] if answer is None else os.fsdecode(answer.tail).splitlines()
        for line in lines[:_MOST_COMMITS]:
            commit, *parents = line.split()
            pair = (parents[0] if parents else _EMPTY_TREE, commit)
            changes += await self._changes(*(reversed(pair) if is_reverted else pair)) or []
        held = await self._held(changes)
        return None if held is None else msgspec.structs.replace(held, commits={" ".join(commits): " ".join(lines)})

    async def _held_of_patches(self, patches: Sequence[str]) -> HeldFiles | None:
        """What is held of the files that patches change. Commands can change a patch after it was looked at."""
        if (answer := await self._git.ask("apply", "--numstat", "-z", *patches)) is None:
            return None
        names = (line.split("\t", 2)[-1] for line in os.fsdecode(answer.tail).split("\0"))
        protected = await self._protected(list(dict.fromkeys(filter(None, names))))
        top = await self._git.ask("rev-parse", "--show-toplevel") if protected else None
        held = () if top is None else await self._unwritable(line_of(top), protected[:_MAX_HELD])
        return HeldFiles(held, "", without=_pathspecs_without(held)) if held else None

    async def taken(self, taken: Taken) -> HeldFiles | None:
        """The protected files that a command would have to restore or remove; None if it can do all that it has to.

        Args:
            taken: what the command takes away.
        """
        changed = await self._git.changed_files(_MOST_CHANGED) if taken.changes else None
        paths = [*(() if changed is None else changed.paths), *await self._not_tracked(taken)]
        protected = await self._protected(sorted({*paths}))
        top = await self._git.ask("rev-parse", "--show-toplevel") if protected else None
        if top is None or not (held := await self._unwritable(line_of(top), protected[:_MAX_HELD])):
            return None
        return HeldFiles(held, "", without=_pathspecs_without(held))

    async def _not_tracked(self, taken: Taken) -> list[str]:
        """Files that git does not track, from the root of the repository. Ignored directories are not looked into."""
        spared = [f"--exclude={pattern}" for pattern in taken.spared]
        whole = () if taken.directories else ("--directory",)
        listings: list[tuple[str, ...]] = []
        if taken.untracked:
            listings.append(("--exclude-standard", *whole, *spared))
        if taken.ignored:
            standard = () if taken.untracked else ("--ignored", "--exclude-standard")
            listings.append((*standard, "--directory", *spared))
        paths: list[str] = []
        for listing in listings:
            answer = await self._git.ask("ls-files", "-z", "--others", "--full-name", *listing, whole=False)
            names = [] if answer is None else os.fsdecode(answer.tail).split("\0")[:-1]
            if answer is not None and answer.output_bytes > len(answer.tail):
                del names[:1]  # the end of one
            paths += (name.rstrip("/") for name in names if taken.directories or not name.endswith("/"))
        return paths

    async def can_remove_worktree(self, path: str) -> bool:
        """Return whether commands may write all that git keeps of a worktree, and nothing would be lost with it.

        The sandbox holds what was there when it was set up, not what has come since.

        Args:
            path: of the worktree, as a command names it.
        """
        request = _quick(["/bin/sh", "-c", _FREE_WORKTREE, "sh", path])
        try:
            return (await self._workspace.run(request)).exit_code == 0
        except OSError:
            return False

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

    async def _protected(self, paths: Collection[str]) -> list[str]:
        """Those of some files, from the root of the repository, that the sandbox may hold."""
        top = await self._git.ask("rev-parse", "--show-toplevel") if paths else None
        root = "" if top is None else line_of(top)
        held = {
            path
            for path in (*self._executed, *await self._mounted(), *await self._links(root))
            if root and is_below(path, (root,))
        }
        below = {path.removeprefix(root).lstrip("/") for path in held if path != root}

        def is_held(path: str) -> bool:
            parts = path.split("/")
            return any("/".join(parts[:end]) in below for end in range(1, len(parts) + 1))

        return [path for path in paths if is_protected(path.split("/")) or (below and is_held(path))]

    async def _mounted(self) -> tuple[str, ...]:
        """What the sandbox mounts read-only, such as a script that a hook of the repository is a link to."""
        try:
            result = await self._workspace.run(_quick(["/bin/sh", "-c", "cat /proc/self/mountinfo"]))
        except OSError:
            return ()
        lines = (line.split(b" ") for line in result.tail.splitlines())
        places = (fields[4] for fields in lines if len(fields) > 5 and b"ro" in fields[5].split(b","))
        return tuple(os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), place)) for place in places)

    async def _links(self, root: str) -> tuple[str, ...]:
        """Links on the way to what git obeys, which no mount can hold: the guard puts them back."""
        return tuple(filter(os.path.islink, await self._named(root)))

    async def _named(self, root: str) -> tuple[str, ...]:
        """What git obeys for a configuration or a link, and links on the way to it."""
        if root not in self._named_of:
            self._named_of[root] = await asyncio.to_thread(_named_of, self._workspace.root, root, self._home)
        return self._named_of[root]

    async def _exchanged(self, changes: Sequence[tuple[str, "_Change"]]) -> str:
        """The link that changes put where something is that git or a protected link leads to; empty if there is none.

        No mount holds what is not there yet, or a folder: the guard would move the link away.
        """
        new = [path for path, change in changes if change.new_mode == _LINK]
        top = await self._git.ask("rev-parse", "--show-toplevel") if new else None
        if top is None:
            return ""
        root = line_of(top)
        try:
            found = await self._workspace.run(_quick(["/bin/sh", "-c", _ALL_LINKS, "sh", root]))
        except OSError:
            return ""
        paths = (os.fsdecode(path).removeprefix("./") for path in found.tail.split(b"\0"))
        links = [os.path.join(root, path) for path in paths if path and is_protected(path.split("/"))]
        led_to = (*await self._named(root), *await asyncio.to_thread(lambda: [*map(os.path.realpath, links)]))
        return next((path for path in new if any(is_below(one, (os.path.join(root, path),)) for one in led_to)), "")

    async def _held(self, changes: Sequence[tuple[str, "_Change"]]) -> HeldFiles | None:
        """What of the changes is held."""
        if link := await self._exchanged(changes):
            return HeldFiles((link,), "", without=_pathspecs_without((link,)), objection=_LED.format(link))
        names = {*await self._protected(dict.fromkeys(path for path, _ in changes))}
        protected = [(path, change) for path, change in changes if path in names]
        top = await self._git.ask("rev-parse", "--show-toplevel") if protected else None
        existing = list(dict.fromkeys(path for path, change in protected if change.letter != "A"))[:_MAX_HELD]
        held = await self._unwritable(line_of(top), existing) if top is not None and existing else ()
        if top is None or not held:
            return None
        without = _pathspecs_without(held)
        links = await self._links(line_of(top))
        link = next((path for path in held if os.path.join(line_of(top), path) in links), "")
        objection = _LED.format(link) if link else ""
        if len(protected) > _MAX_HELD:
            return HeldFiles(held, "", without=without, objection=objection)
        # Not git's diff: commands can write attributes, with which it shows no content, and replace objects meanwhile.
        diff: list[str] = []
        contents: dict[str, bytes] = {}
        for path, change in protected:
            before, after = await self._content(change.old), await self._content(change.new)
            diff += _diff(path, change, before, after)
            if after is not None and change.letter != "D" and _as_text(after) is not None:
                contents[os.path.join(line_of(top), path)] = after
        return HeldFiles(held, "\n".join(diff), contents, without=without, objection=objection)

    async def _content(self, blob: str) -> bytes | None:
        """The content that a name means, empty for no file; None if it is too long, or not in the repository."""
        if not blob.strip("0"):
            return b""
        answer = await self._git.ask("cat-file", "blob", blob)
        return None if answer is None or _blob_digest(answer.tail, len(blob)) != blob else answer.tail

    async def _unwritable(self, top: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of some files, from the root of the repository, that exist and cannot be written, or are held links."""
        links = {path.removeprefix(f"{top}/") for path in await self._links(top)}
        try:
            result = await self._workspace.run(_quick(["/bin/sh", "-c", _UNWRITABLE, "sh", top, *paths]))
        except OSError:
            return ()
        unwritable = {os.fsdecode(path) for path in result.tail.split(b"\0") if path}
        return tuple(path for path in paths if path in unwritable or path in links)


def _named_of(project: str, top: str, home: str) -> tuple[str, ...]:
    from kaa.hands.confinement import repositories  # lazy: few commands change protected files
    from kaa.hands.confinement.named import named_paths

    entry = os.path.join(top, ".git")
    gits = [repositories.at(entry)] if os.path.lexists(entry) else []
    return named_paths(gits, (os.path.realpath(project),), home)


def _quick(argv: Sequence[str]) -> CommandRequest:
    return CommandRequest(
        argv,
        timeout=_TIMEOUT_SECONDS,
        tail_bytes=_MAX_OUTPUT_BYTES,
        spill=False,
        carries_findings=False,
        finds_installed=False,
    )


def _pathspecs_without(paths: Iterable[str]) -> tuple[str, ...]:
    """Pathspecs that leave out some files; of those with a protected name, the whole directory at the top."""
    left_out = (path.partition("/")[0] if is_protected(path.split("/")) else path for path in paths)
    return tuple(f"{WITHOUT}{path}" for path in dict.fromkeys(left_out))


def _diff(path: str, change: _Change, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """Show what changes in a file, as git does."""
    name = path if path.isprintable() else ascii(path)
    yield f"diff --git a/{name} b/{name}"
    if change.letter == "A":
        yield f"new file mode {change.new_mode}"
    elif change.letter == "D":
        yield f"deleted file mode {change.old_mode}"
    elif change.old_mode != change.new_mode:
        yield from (f"old mode {change.old_mode}", f"new mode {change.new_mode}")
    old, new = (None if content is None else _as_text(content) for content in (before, after))
    if old is None or new is None:
        yield "The content cannot be shown: it is no text, too long, or not in the repository."
        return
    names = ("/dev/null" if change.letter == "A" else f"a/{name}", "/dev/null" if change.letter == "D" else f"b/{name}")
    if old != new:
        yield from (f"--- {names[0]}", f"+++ {names[1]}", *patch_hunks(old, new))


def _as_text(content: bytes) -> str | None:
    """A content as text; None if it is none, so that what is shown is exactly what it is."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or text.count("\n") > _MAX_LINES else text


def _blob_digest(content: bytes, length: int) -> str:
    """Return the digest by which git names a content. `length`: of those of the repository, SHA-1 or SHA-256."""
    new = hashlib.sha1 if length == _SHA1_LENGTH else hashlib.sha256
    return new(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
