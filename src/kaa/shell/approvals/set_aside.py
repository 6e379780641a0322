"""Offers to write what the guard moved away: one question that shows the files, then kaa writes them itself.

Other programs execute or obey these files. A command made them, or somebody else while it ran: nothing tells these
apart, so whatever is answered, the result of the command stays what it was. Their content is read once. The question
shows it, and after a yes exactly these bytes are written: nothing that commands do meanwhile changes what was approved.
"""

import asyncio
import contextlib
import errno
import os
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
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
from kaa.host.regular_files import read_regular
from kaa.shell.approvals.calls import JudgedCall, examine
from kaa.shell.approvals.judgement import Allowed, Denied
from kaa.shell.approvals.wording import IF_MOVED
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
_OWN_MODE = 0o775  # of a file that is put back: commands can give the copy any mode, and others shall not write it
_CONFIGURATIONS = ("config", "config.worktree")

# The question names so many commands that put something back. `find` shows more.
_MAX_WAYS_BACK = 3

Ask: TypeAlias = Callable[[JudgedCall, Approval], Awaitable[Allowed | Denied]]
Forbids: TypeAlias = Callable[[JudgedCall], str | None]


class NotOfferedError(ValueError):
    """The files are not offered; the message is the reason, a sentence without a full stop."""


class ProposedFile(msgspec.Struct, frozen=True):
    """A file that kaa writes after a yes.

    Attributes:
        path: absolute.
        copy: where it was moved to, absolute.
        before: what must be there, so that nothing is overwritten that the question does not show.
        executable: the file gets the permission to be executed.
        warning: what runs because of it, a sentence without a full stop; None if that is not known.
    """

    path: str
    copy: str
    mode: int
    content: bytes
    before: Expected
    executable: bool
    change: str
    warning: str | None

    @property
    def key(self) -> tuple[str, bytes, bool]:
        """What a refusal is remembered by."""
        return self.path, new_digest(self.content).digest(), self.executable


class Outcome(msgspec.Struct, frozen=True):
    """The end of an offer.

    Attributes:
        told: for the model; empty for nothing.
        settled: what is at its place again, so that the result need not say that it was moved away.
    """

    told: str = ""
    settled: tuple[Blocked, ...] = ()


class FileAnswers:
    """The answers about files of one conversation, which hold for its agents too.

    Attributes:
        refused: what was refused, by `ProposedFile.key`.
        settled: what was put back or written.
        turn: one offer at a time.
    """

    def __init__(self) -> None:
        self.refused: set[tuple[str, bytes, bool]] = set()
        self.settled: set[Blocked] = set()
        self.turn = asyncio.Lock()


class SetAside:
    """Asks about files that the guard moved away, and writes them.

    Args:
        forbids: why rules forbid a call; None if they do not.
        notify: tells the person, and nobody else, what became of the files.
    """

    def __init__(
        self,
        sandbox: SandboxControl,
        ask: Ask,
        forbids: Forbids,
        notify: Callable[[str], None],
        answers: FileAnswers | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._ask = ask
        self._forbids = forbids
        self._notify = notify
        self._answers = answers or FileAnswers()

    @property
    def settled(self) -> Collection[Blocked]:
        """What was put back or written."""
        return self._answers.settled

    async def offer(self, call: ToolCall, blocked: Sequence[Blocked]) -> Outcome | None:
        """Ask about the files that appeared during a call, and write them after a yes.

        Args:
            call: the call; without an id, no result tells of the files: only processes in the background ran, or the
                call was stopped.

        Returns:
            None if there is nothing to ask about.
        """
        kept = [one for one in blocked if one.kind == "protected" and one.kept_as]
        if not kept:
            return None
        async with self._answers.turn:  # calls that ran at the same time have the same findings
            done = tuple([one for one in kept if await self._is_done(one, at_rest=not call.id)])
            others = [one for one in kept if one not in done]
            outcome = await self._offer(call, others) if others else Outcome()
            self._answers.settled.update(outcome.settled)
            return Outcome(outcome.told, (*done, *outcome.settled))

    async def _is_done(self, one: Blocked, *, at_rest: bool) -> bool:
        """Whether this is at its place again since another call; later the same name may be moved away once more.

        Args:
            at_rest: no call has to say what became of it: somebody else may have put it back as well.
        """
        with contextlib.suppress(OSError):
            is_known = at_rest or any(map(one.is_same_move, self._answers.settled))
            return is_known and await self._sandbox.unconfined(None).stat(one.kept_as) is None
        return False

    async def _offer(self, call: ToolCall, kept: Sequence[Blocked]) -> Outcome:
        try:
            files = await self._read(kept)
        except NotOfferedError as error:
            return Outcome(f"kaa does not ask whether to write it: {error}.")
        except OSError as error:
            return Outcome(f"kaa does not ask whether to write it: it cannot be read ({error.strerror or error}).")
        earlier = tuple(one for one in kept if not any(is_below(file.copy, one.kept_as) for file in files))
        said = _earlier(earlier)
        outcome = await self._offer_files(call, files, tuple(one for one in kept if one not in earlier), said.rstrip())
        if not (earlier and outcome.settled):
            return outcome
        if not outcome.told:  # it is the person's own: what lies in their project is in their way
            said = _earlier([await self._cleared_away(one) for one in earlier])
        self._notify(said.rstrip())
        told = f"{outcome.told} {said}If a command wrote it in parts, only the last part was written again."
        return Outcome(told if outcome.told else "", (*outcome.settled, *earlier))

    async def _offer_files(
        self, call: ToolCall, files: Sequence[ProposedFile], kept: tuple[Blocked, ...], remark: str
    ) -> Outcome:
        left = await self._left_behind(files)
        rest = tuple(file for file in files if file not in left)
        open_ones = tuple(one for one in kept if any(is_below(file.copy, one.kept_as) for file in rest))
        if not left:
            return await self._ask_and_write(call, rest, open_ones, remark)
        await self._discard_copies(tuple(left), kept)
        told = f"{_listed([file.path for file in left])} came with a checkout and went with the next one."
        self._notify(f"{told} kaa keeps a copy: {_listed(tuple(left.values()))}")
        outcome = await self._ask_and_write(call, rest, open_ones, remark) if rest else Outcome()
        settled = (*(one for one in kept if one not in open_ones), *outcome.settled)
        return Outcome(f"{told} {outcome.told}".rstrip(), settled)

    async def _ask_and_write(
        self, call: ToolCall, files: Sequence[ProposedFile], kept: tuple[Blocked, ...], remark: str
    ) -> Outcome:
        if self._answers.refused.issuperset(file.key for file in files):
            if call.id:  # else it is said where they are because nobody was asked
                named = _listed([file.path for file in files])
                self._notify(
                    f"kaa moved {named} away again, as you refused before. To restore: {self._ways_back(kept)}"
                )
            return Outcome(f"The user refused these files before, and is not asked again. {IF_MOVED}")
        judged = [self._judged(call, file.path) for file in files]
        if reason := next(filter(None, map(self._forbids, judged)), None):
            return Outcome(f"{reason} {IF_MOVED}")
        verdict = await self._ask(judged[0], _question(call, files, self._ways_back(kept), remark))
        if isinstance(verdict, Denied):
            self._answers.refused.update(file.key for file in files)
            return Outcome(f"{verdict.reason} {IF_MOVED}")
        return await self._write(files, kept, own=verdict.puts_back)

    async def _left_behind(self, files: Sequence[ProposedFile]) -> Mapping[ProposedFile, str]:
        """Return the files that git had checked out and has no more, with new copies in kaa's home.

        Nobody needs them. But commands can write what git says of that, so one that kaa cannot keep is none of them.
        """
        left = await self._sandbox.left_behind({file.path: file.content for file in files if file.before == Absent()})
        copies = {
            file: await self._sandbox.save_copy(file.path, file.content, file.mode)
            for file in files
            if file.path in left
        }
        return {file: copy for file, copy in copies.items() if copy}

    def _ways_back(self, kept: Sequence[Blocked]) -> str:
        """Return a command for the directory of the project."""
        below = f"{self._sandbox.root.rstrip('/')}/"
        ways = [
            msgspec.structs.replace(one, what=one.what.removeprefix(below), kept_as=one.kept_as.removeprefix(below))
            for one in kept[:_MAX_WAYS_BACK]
        ]
        more = f" (and {len(kept) - len(ways)} more)" if len(kept) > len(ways) else ""
        return visible(" && ".join(dict.fromkeys(one.way_back for one in ways))) + more

    def _judged(self, call: ToolCall, path: str) -> JudgedCall:
        """The same as a call of the write tool, so that rules for files hold."""
        target = Target(path, path, writes=True)
        return examine(ToolCall(call.id, "write", {"path": path}), "write", self._sandbox, target)

    async def _read(self, kept: Sequence[Blocked]) -> tuple[ProposedFile, ...]:
        """Read all files; of one that was moved away several times, what came last.

        Raises:
            NotOfferedError: one of them is nothing to ask about, or there are too many.
            OSError: one cannot be read.
        """
        workspace = self._sandbox.unconfined(None)
        files: dict[str, ProposedFile] = {}
        size = 0
        for one in kept:
            if not any(is_below(one.what, root) for root in self._sandbox.writable):
                raise NotOfferedError(f"{visible(one.what)} is not in the project")
            async for path, copy in _files(workspace, one.what, one.kept_as):
                if len(files) == _MAX_FILES:
                    raise NotOfferedError(f"there are more than {_MAX_FILES} files")
                files.pop(path, None)
                files[path] = await _proposed(workspace, path, copy)
                size += len(files[path].content)
                if size > _MAX_BYTES:
                    raise NotOfferedError(f"the files have more than {_MAX_BYTES // 1024} KiB")
        if not files:
            raise NotOfferedError(f"there is no file in it. {_BY_TOOL}")
        return tuple(files.values())

    async def _write(self, files: Sequence[ProposedFile], kept: tuple[Blocked, ...], *, own: bool) -> Outcome:
        """Write the files, and remove the copies. `own`: they are the person's, and no model is told of them."""
        written: list[str] = []
        for file in files:
            try:
                if own:
                    mode = file.mode & _OWN_MODE
                    await self._sandbox.moved_files.put_back(file.path, file.content, file.before, mode)
                else:
                    workspace = self._sandbox.unconfined(Target(file.path, file.path, writes=True))
                    await workspace.write(file.path, file.content, file.before, executable=file.executable)
            except OSError as error:
                done = f" {_listed(written)} {_were(written)} written." if written else ""
                failure = f"kaa could not write {visible(file.path)}: {error.strerror or error}.{done}"
                if own:
                    self._notify(failure)
                    return Outcome()
                return Outcome(f"The user allowed it, but {failure}")
            written.append(file.path)
        await self._discard_copies(files, kept)
        if own:
            self._notify(f"kaa put back {_listed(written)}. The model was not told of it, and /undo leaves it.")
            return Outcome(settled=kept)
        them = "it" if len(written) == 1 else "them"
        return Outcome(
            f"kaa moved {_listed(written)} away while this ran, and wrote {them} again with the same content, because"
            " the user allowed it.",
            kept,
        )

    async def _cleared_away(self, one: Blocked) -> Blocked:
        """Remove a copy from the project if kaa keeps another one. Returns where that is."""
        with contextlib.suppress(OSError):
            digest = FileDigest(new_digest(read_regular(one.saved)).hexdigest())
            await self._sandbox.moved_files.discard(one.kept_as, digest, one.kept_as)
            return msgspec.structs.replace(one, kept_as=one.saved)
        return one

    async def _discard_copies(self, files: Sequence[ProposedFile], kept: Sequence[Blocked]) -> None:
        """Remove the copies. What somebody has changed meanwhile stays: it is not what was written."""
        for file in files:
            top = next(one.kept_as for one in kept if is_below(file.copy, one.kept_as))
            digest = FileDigest(new_digest(file.content).hexdigest())
            with contextlib.suppress(OSError):
                await self._sandbox.moved_files.discard(file.copy, digest, top)


def _earlier(moved: Sequence[Blocked]) -> str:
    return "".join(f"An earlier version of {visible(one.what)} is in {visible(one.kept_as)}. " for one in moved)


def _question(call: ToolCall, files: Sequence[ProposedFile], ways_back: str, remark: str) -> Approval:
    executable = [visible(file.path) for file in files if file.executable]
    later = "" if call.id else " (first stop the background processes, if any run: /bg lists them)"
    is_new = all(file.before == Absent() for file in files)
    reasons = [
        "While a command ran, it or you changed what other programs execute or obey, so kaa moved the change away:"
        f" {'until you answer, this is not there' if is_new else 'until you answer, all is as it was before'}.",
        f"A no loses nothing: this puts the change back later{later}: {ways_back}",
    ]
    if remark:
        reasons.append(remark)
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
    content, mode = await _content(workspace, copy)
    before: Expected = Absent()
    old = b""
    if (info := await workspace.stat(path)) is not None:
        if info.real_path != path or info.kind != "file":
            raise NotOfferedError(f"at {visible(path)} is a link, a directory or a special file")
        old, _ = await _content(workspace, path)
        before = FileDigest(new_digest(old).hexdigest())
    # The guard is often faster than the `chmod` of a command, and git ignores a hook without the permission.
    executable = bool(mode & 0o100) or (is_git_hook(path) and content.startswith(b"#!"))
    if _is_configuration(path):
        change, warning = _settings(old, content)
    else:
        change = text_change(*_shown(path, old, content))
        warning = f"git runs {posixpath.basename(path)} with your rights" if is_git_hook(path) else None
    if not change and before == Absent():
        change = "(an empty file)"
    if not change:
        raise NotOfferedError(f"the change of {visible(path)} cannot be shown")
    return ProposedFile(path, copy, mode, content, before, executable, change, warning)


async def _content(workspace: Workspace, path: str) -> tuple[bytes, int]:
    """Read a file that is short enough to be shown, and its mode."""
    info = await workspace.stat(path)
    if info is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    read = await workspace.read(path, 0, _MAX_FILE_BYTES + 1)
    if max(read.size, len(read.data)) > _MAX_FILE_BYTES:
        raise NotOfferedError(f"{visible(path)} has more than {_MAX_FILE_BYTES // 1024} KiB")
    return read.data, info.mode


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
