"""Offers to write what the guard moved away: one question that shows the files, then kaa writes them itself.

A command made these files, and other programs execute or obey them. Their content is read once. The question shows it,
and after a yes exactly these bytes are written, so nothing that commands do meanwhile changes what was approved.
"""

import errno
import os
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from kaa.builtin.change_preview import text_change
from kaa.builtin.file_paths import is_git_hook
from kaa.core.messages import ToolCall
from kaa.ext.escalations import Escalation
from kaa.ext.questions import Approval
from kaa.hands.below import is_below
from kaa.hands.digest import new_digest
from kaa.hands.git_config import ConfigEntry, ConfigSyntaxError, entries
from kaa.hands.guard.items import is_kept_name
from kaa.shell.approvals.calls import JudgedCall, examine
from kaa.shell.approvals.judgement import Denied
from kaa.shell.boundary import SandboxControl
from kaa.tui.invisible import is_invisible
from kaa.workspace.blocked import Blocked, visible
from kaa.workspace.permitted import Target
from kaa.workspace.protocol import Absent, Expected, FileDigest, Workspace

# More than that nobody reads.
_MAX_FILES = 20
_MAX_FILE_BYTES = 128 * 1024
_MAX_BYTES = 256 * 1024
_MAX_DEPTH = 4
# Of a file that a command writes in steps, the guard may move away each step.
_BY_TOOL = "Write all of it with the write tool, which asks the user"
_CONFIGURATIONS = ("config", "config.worktree")

Ask: TypeAlias = Callable[[JudgedCall, Approval], Awaitable[Denied | None]]
Forbids: TypeAlias = Callable[[JudgedCall], str | None]


class NotOfferedError(ValueError):
    """The files are not offered; the message is the reason, a sentence without a full stop."""


class ProposedFile(msgspec.Struct, frozen=True):
    """A file that kaa writes after a yes.

    Attributes:
        path: absolute.
        content: all that is written.
        before: what must be there, so that nothing is overwritten that the question does not show.
        executable: the file gets the permission to be executed.
        change: what the question shows.
        warning: what runs because of it, a sentence without a full stop; None if that is not known.
    """

    path: str
    content: bytes
    before: Expected
    executable: bool
    change: str
    warning: str | None

    @property
    def key(self) -> tuple[str, bytes, bool]:
        """What a refusal is remembered by."""
        return self.path, new_digest(self.content).digest(), self.executable


class SetAside:
    """Asks about files that the guard moved away, and writes them.

    Args:
        sandbox: gives the workspace outside.
        ask: asks the person; None is a yes.
        forbids: why rules forbid a call; None if they do not.
    """

    def __init__(self, sandbox: SandboxControl, ask: Ask, forbids: Forbids) -> None:
        self._sandbox = sandbox
        self._ask = ask
        self._forbids = forbids
        self._refused: set[tuple[str, bytes, bool]] = set()

    async def offer(self, call: ToolCall, blocked: Sequence[Blocked]) -> str | Denied | None:
        """Ask about the files of a call and write them after a yes.

        Args:
            call: the call that made them.
            blocked: what was stopped in it.

        Returns:
            What the model is told; None if there is nothing to ask about.
        """
        kept = [one for one in blocked if one.kind == "protected" and one.kept_as]
        if not kept:
            return None
        try:
            files = await self._read(kept)
        except NotOfferedError as error:
            return f"kaa does not ask whether to write it: {error}."
        except OSError as error:
            return f"kaa does not ask whether to write it: it cannot be read ({error.strerror or error})."
        if self._refused.issuperset(file.key for file in files):
            return Denied("The user refused these files before. They are not asked again.")
        judged = [self._judged(call, file.path) for file in files]
        if reason := next(filter(None, map(self._forbids, judged)), None):
            return Denied(reason)
        if (verdict := await self._ask(judged[0], _question(call, files))) is not None:
            self._refused.update(file.key for file in files)
            return verdict
        return await self._write(files, kept)

    def _judged(self, call: ToolCall, path: str) -> JudgedCall:
        """The same as a call of the write tool, so that rules for files hold."""
        target = Target(path, path, writes=True)
        return examine(ToolCall(call.id, "write", {"path": path}), "write", self._sandbox, target)

    async def _read(self, kept: Sequence[Blocked]) -> tuple[ProposedFile, ...]:
        """Read all files once.

        Raises:
            NotOfferedError: one of them is nothing to ask about, or there are too many.
            OSError: one cannot be read.
        """
        workspace = self._sandbox.unconfined(None)
        files: list[ProposedFile] = []
        size = 0
        for one in kept:
            if not any(is_below(one.what, root) for root in self._sandbox.writable):
                raise NotOfferedError(f"{visible(one.what)} is not in the project")
            async for path, copy in _files(workspace, one.what, one.kept_as):
                if len(files) == _MAX_FILES:
                    raise NotOfferedError(f"there are more than {_MAX_FILES} files")
                if any(file.path == path for file in files):
                    raise NotOfferedError(f"{visible(path)} was moved away more than once. {_BY_TOOL}")
                files.append(await _proposed(workspace, path, copy))
                size += len(files[-1].content)
                if size > _MAX_BYTES:
                    raise NotOfferedError(f"the files have more than {_MAX_BYTES // 1024} KiB")
        if not files:
            raise NotOfferedError(f"there is no file in it. {_BY_TOOL}")
        return tuple(files)

    async def _write(self, files: Sequence[ProposedFile], kept: Sequence[Blocked]) -> str | Denied:
        written: list[str] = []
        for file in files:
            workspace = self._sandbox.unconfined(Target(file.path, file.path, writes=True))
            try:
                await workspace.write(file.path, file.content, file.before, executable=file.executable)
            except OSError as error:
                done = f" {_listed(written)} {_were(written)} written." if written else ""
                why = error.strerror or str(error)
                return Denied(f"The user allowed it, but kaa could not write {visible(file.path)}: {why}.{done}")
            written.append(file.path)
        copies = _listed([one.kept_as for one in kept])
        return f"The user allowed it: kaa wrote {_listed(written)}. Move nothing back; {copies} can be deleted."


def _question(call: ToolCall, files: Sequence[ProposedFile]) -> Approval:
    executable = [visible(file.path) for file in files if file.executable]
    reasons = [
        "A command, or you or another program while it ran, made what other programs execute or obey outside the"
        " sandbox; kaa moved it away."
    ]
    if executable:
        reasons.append(f"The permission to be executed is set for {', '.join(executable)}.")
    return Approval(
        title=f"write {_listed([file.path for file in files])}",
        call_id=call.id,
        tool=call.name,
        risk="write",
        arguments={visible(file.path): file.change for file in files},
        reasons=tuple(reasons),
        warning="; ".join(dict.fromkeys(file.warning for file in files if file.warning)) or None,
        escalations=tuple(Escalation("file", visible(file.path)) for file in files),
    )


async def _files(workspace: Workspace, path: str, copy: str, depth: int = 0) -> AsyncIterator[tuple[str, str]]:
    """Yield the path of each file and where it is now. No link is followed.

    Raises:
        NotOfferedError: something there is neither a file nor a directory.
    """
    info = await workspace.stat(copy)
    if info is None:
        raise NotOfferedError(f"{visible(copy)} is gone")
    if info.real_path != copy or info.kind not in ("file", "directory"):
        raise NotOfferedError(f"{visible(path)} is a link or a special file")
    if info.kind == "file":
        yield path, copy
        return
    if depth == _MAX_DEPTH:
        raise NotOfferedError(f"{visible(path)} has directories below more than {_MAX_DEPTH} others")
    entries_of_directory = await workspace.list(copy)
    if len(entries_of_directory) > _MAX_FILES:
        raise NotOfferedError(f"there are more than {_MAX_FILES} files")
    for entry in sorted(entries_of_directory, key=lambda entry: entry.name):
        inner = _files(workspace, posixpath.join(path, entry.name), posixpath.join(copy, entry.name), depth + 1)
        async for found in inner:
            yield found


async def _proposed(workspace: Workspace, path: str, copy: str) -> ProposedFile:
    if (objection := _objection(path)) is not None:
        raise NotOfferedError(objection)
    content, executable = await _content(workspace, copy)
    before: Expected = Absent()
    old = b""
    if (info := await workspace.stat(path)) is not None:
        if info.real_path != path or info.kind != "file":
            raise NotOfferedError(f"at {visible(path)} is a link, a directory or a special file")
        old, _ = await _content(workspace, path)
        before = FileDigest(new_digest(old).hexdigest())
    # The guard is often faster than the `chmod` of a command, and git ignores a hook without the permission.
    executable = executable or (is_git_hook(path) and content.startswith(b"#!"))
    if _is_configuration(path):
        change, warning = _settings(old, content)
    else:
        change = text_change(*_shown(path, old, content))
        warning = f"git runs {posixpath.basename(path)} with your rights" if is_git_hook(path) else None
    if not change and before == Absent():
        change = "(an empty file)"
    if not change:
        raise NotOfferedError(f"the change of {visible(path)} cannot be shown")
    return ProposedFile(path, content, before, executable, change, warning)


async def _content(workspace: Workspace, path: str) -> tuple[bytes, bool]:
    """Read a file that is short enough to be shown, and whether it may be executed."""
    info = await workspace.stat(path)
    if info is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    read = await workspace.read(path, 0, _MAX_FILE_BYTES + 1)
    if max(read.size, len(read.data)) > _MAX_FILE_BYTES:
        raise NotOfferedError(f"{visible(path)} has more than {_MAX_FILE_BYTES // 1024} KiB")
    return read.data, bool(info.mode & 0o100)


def _objection(path: str) -> str | None:
    """Return why a path is not offered; of a repository only its configuration and its hooks are."""
    if visible(path) != path or any(map(is_invisible, path)):  # another path may look the same
        return f"the name of {visible(path)} has characters that cannot be shown"
    if is_kept_name(posixpath.basename(path)):
        return f"{path} was moved away before. {_BY_TOOL}"
    if ".git" not in path.casefold().split("/") or _is_configuration(path) or is_git_hook(path):
        return None
    return f"of a repository kaa writes only the configuration and hooks, not {visible(path)}"


def _is_configuration(path: str) -> bool:
    return "/.git/" in path and posixpath.basename(path) in _CONFIGURATIONS


def _shown(path: str, *contents: bytes) -> Sequence[str]:
    """Versions of a file as texts.

    Raises:
        NotOfferedError: one is no text.
    """
    try:
        texts = [content.decode() for content in contents]
    except UnicodeDecodeError as error:
        raise NotOfferedError(f"{visible(path)} is not UTF-8 text") from error
    return _spelled(texts, kept="\n\t")


def _spelled(texts: Sequence[str], *, kept: str) -> Sequence[str]:
    """Texts in which control characters, and what is not to be seen, stand as their escapes.

    If there are any, backslashes are doubled, so that no text looks like an escape.

    Args:
        texts: are compared with each other.
        kept: control characters that stay.
    """
    odd = {one for one in set("".join(texts)) - set(kept) if not one.isprintable() or is_invisible(one)}
    escapes = str.maketrans({one: ascii(one)[1:-1] for one in odd} | ({"\\": r"\\"} if odd else {}))
    return [text.translate(escapes) for text in texts]


def _settings(old: bytes, new: bytes) -> tuple[str, str | None]:
    """Return the settings of git that differ as lines, and which of them execute.

    Raises:
        NotOfferedError: it is no configuration of git.
    """
    try:
        before, after = entries(old), entries(new)
    except ConfigSyntaxError as error:
        raise NotOfferedError(f"git cannot read its configuration ({error})") from error
    removed, added = tuple(_without(before, after)), tuple(_without(after, before))
    if tuple(_without(before, removed)) != tuple(_without(after, added)):  # the last value wins, so the order counts
        removed, added = tuple(before), tuple(after)
    lines = [f"-{_as_line(entry)}" for entry in removed] + [f"+{_as_line(entry)}" for entry in added]
    executing = ", ".join(visible(entry.key) for entry in added if entry.executes)
    return "\n".join(
        _spelled(lines, kept="")
    ), f"git or another tool may execute what {executing} says" if executing else None


def _without(some: Sequence[ConfigEntry], others: Sequence[ConfigEntry]) -> Iterator[ConfigEntry]:
    left = list(others)
    for entry in some:
        if entry in left:
            left.remove(entry)
        else:
            yield entry


def _as_line(entry: ConfigEntry) -> str:
    return f"{entry.key} = {entry.value}"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(map(visible, paths))


def _were(paths: Sequence[str]) -> str:
    return "was" if len(paths) == 1 else "were"
