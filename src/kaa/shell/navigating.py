"""Going elsewhere in a session's tree: back to an earlier message, over to another branch, and forward again."""

import asyncio
import errno
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from kaa.builtin.amounts import counted
from kaa.core.agent import Agent, AgentBusyError
from kaa.core.events import AgentEnd, BranchChanged, Event
from kaa.core.messages import UserMessage
from kaa.ext.errors import CommandError
from kaa.ext.hooks import NavigationRequest
from kaa.ext.navigation import SessionChanges, Since
from kaa.session.as_user_message import origin_of
from kaa.session.entries import SPEAKING, CustomMessage, Entry, Label, MessageEntry
from kaa.session.file.jsonl import UNREADABLE
from kaa.session.outline import Outline, outline
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore, read_entry
from kaa.session.trail import trail
from kaa.session.tree import Node
from kaa.shell.checkpoints.travel import FileTravel, has_commits
from kaa.shell.compaction.summarizing import Summarizer, SummaryError
from kaa.workspace.checkpoints.plans import FileStep, RestorePlan, RestoreResult, by_reason

Restore: TypeAlias = Literal["conversation", "files", "both"]
"""What goes to the destination: what the model knows, the project's files, or both."""

Along: TypeAlias = Literal["conversation", "both"]
"""What `/undo` and `/redo` take along."""

Uncertain: TypeAlias = Literal["keep", "restore"]
"""What happens to files that changed while only a background process ran."""


_UNCERTAIN = "changed while only a background process ran, maybe by someone else"
_OF_COMMANDS = "changed while a command ran, maybe by someone else"
_AS_LEFT = ", as someone else left it between two changes of kaa's"
_KEPT = " (/undo --all would restore it)"
_ARRIVED = {
    "tree": "the conversation continues from there",
    "undo": "took back the last message",
    "redo": "went forward",
}
_COMMITS = "the commits that git made there stay: kaa does not change what is in .git"
_MOST_REMINDERS = 8
_MOST_STEPS = 20  # with a line of their own
_AGAIN = "Repeat the command after you have removed the cause: it restores the rest"


class RewindPoint(msgspec.Struct, frozen=True):
    """A message of the user's that can be taken back. `timestamp`: Unix time in milliseconds."""

    entry_id: str
    text: str
    timestamp: int


class BranchSummaryRequest(msgspec.Struct, frozen=True):
    """What is left is to be summarised for the model. `instructions`: what matters in it, in the user's words."""

    instructions: str = ""


class NavigationTarget(msgspec.Struct, frozen=True):
    """Where the conversation could go, and what that would mean.

    Attributes:
        leaf_id: the entry after which it would go on; None: before the first.
        message: what the user said there, to be said anew; None where the destination is no such message.
        left: how many messages would be left behind.
        files: what would become of the project's files.
        files_problem: why that is not known; then only the conversation can go there.
        remark: what of the messages that are left stays, a sentence without a full stop; empty if nothing is known.
    """

    leaf_id: str | None
    message: UserMessage | None
    left: int
    files: RestorePlan
    files_problem: str | None = None
    remark: str = ""

    @property
    def leaves_files_alone(self) -> bool:
        """Whether it is certain that nothing is to be restored, and nothing to be said of files."""
        return self.files_problem is None and not (self.files.steps or self.files.conflicts or self.files.gaps)

    def keeping_of_commands(self) -> "NavigationTarget":
        """The same without files that changed while a command ran."""
        plan = self.files
        return msgspec.structs.replace(self, files=plan.leaving_out(plan.of_commands, _OF_COMMANDS))

    def keeping_uncertain(self, hint: str = "") -> "NavigationTarget":
        """The same without files that somebody else may have changed. `hint`: how to restore them nevertheless."""
        return msgspec.structs.replace(self, files=self.files.keeping_uncertain(_UNCERTAIN + hint))


class Arrival(msgspec.Struct, frozen=True):
    """The result of a move. `message`: see `NavigationTarget`. `files`: the restored files, None without a restore."""

    message: UserMessage | None
    files: RestoreResult | None

    @property
    def is_complete(self) -> bool:
        """Whether no file is missing that the system refused to change. If one is, the conversation did not move."""
        return self.files is None or not self.files.failed


class _Role(msgspec.Struct, frozen=True):
    role: str


class _Line(msgspec.Struct, frozen=True):
    message: _Role


_LINE = msgspec.json.Decoder(_Line)


class Navigation:
    """Moves the leaf. Nothing is taken out of the session: what is left stays on a branch of its own.

    Args:
        allow: raises NavigationBlockedError where an extension objects.
        notify: told at the end of the next run what a move did not restore.

    Attributes:
        files: takes the project's files along, or alone.
    """

    def __init__(
        self,
        agent: Agent,
        store: SessionStore,
        recorder: SessionRecorder,
        files: FileTravel,
        summarizer: Summarizer,
        allow: Callable[[NavigationRequest], Awaitable[None]],
        notify: Callable[[str], None],
    ) -> None:
        self._allow = allow
        self._agent = agent
        self._store = store
        self._recorder = recorder
        self.files = files
        self._summarizer = summarizer
        self._notify = notify
        self._unrestored: tuple[str, ...] = ()  # by the last move of files; empty once the user was reminded
        agent.subscribe(self._remind)

    def points(self) -> tuple[RewindPoint, ...]:
        found = []
        for node in self._store.tree.path():
            message = self._user_message(node)
            if message is not None:
                found.append(RewindPoint(node.id, message.text, message.timestamp))
        return tuple(found)

    async def outline(self) -> Outline:
        tree = self._store.tree
        return await asyncio.to_thread(outline, self._store, tuple(tree.nodes), tree.leaf)

    def message_at(self, entry_id: str) -> UserMessage | None:
        """What was said at an entry, if it can be said anew.

        Raises:
            CommandError: there is no such entry.
            SessionReadError: the disk failed.
        """
        return self._restatable(self._node(entry_id))

    async def to(self, entry_id: str) -> NavigationTarget:
        """What it means to go to an entry: before a message of the user's or of an extension, else after it.

        Raises:
            CommandError: there is no such entry.
            SessionReadError: the disk failed.
            SessionViewedError: the session is open read-only.
        """
        node = self._node(entry_id)
        message = self._restatable(node)
        return await self._destination(node if message is None else node.parent, message)

    async def back(self) -> NavigationTarget | None:
        """What it means to take back the user's last message, or the last of a command, on this branch.

        None if there is none.

        Raises:
            SessionReadError: the disk failed.
            SessionViewedError: the session is open read-only.
        """
        for node in reversed(self._store.tree.path()):
            if (message := self._user_message(node)) is not None:
                return await self._destination(node.parent, message)
            if self._is_of_command(node):
                return await self._destination(node.parent, None)
        return None

    async def forward(self) -> NavigationTarget | None:
        """What it means to return to where the conversation, or its files alone, were before they went elsewhere.

        None if they did not go anywhere, or something was said since.

        Raises:
            CommandError: what a restore did that was interrupted cannot be told.
            SessionReadError: the disk failed.
            SessionViewedError: the session is open read-only.
        """
        self._store.require_writable()
        await self.files.finish()
        left = trail(self._store, self.files.is_rewind)
        return await self._destination(left[-1], None) if left else None

    async def go(
        self,
        destination: NavigationTarget,
        *,
        restore: Restore = "conversation",
        summary: BranchSummaryRequest | None = None,
        kind: Literal["tree", "undo", "redo"] = "tree",
    ) -> Arrival:
        """Go there. Files first: if the system refuses one, the conversation stays, and going again does the rest.

        Args:
            destination: as `to`, `back` or `forward` told it.
            restore: what goes there. Files that somebody else changed since are kept in any case.
            summary: how to sum up for the model what is left; None: not at all.
            kind: what the user asked for; extensions learn it.

        Raises:
            AgentBusyError: the agent is working.
            NavigationBlockedError: an extension objects; nothing has changed.
            CommandError: the destination is gone, or no summary could be made: nothing has changed. Or restoring broke
                off: going again does the rest.
            SessionViewedError: the session is open read-only; nothing has changed.
            SessionWriteError: the session cannot be written.
            SessionReadError: it cannot be read.
        """
        self._store.require_writable()
        self._agent.refuse_if_busy()
        await self._allow(NavigationRequest(kind, destination.leaf_id, restore))
        self._agent.refuse_if_busy()  # a run may have begun while extensions thought about it
        self._target(destination.leaf_id)
        drafts = await self._summarised(destination, summary)
        restored = await self._restored(destination, restore)
        # Whoever then goes on without the files knows it.
        self._unrestored = () if restored is None else tuple(_not_restored(destination.files, restored))
        if restore == "both" and restored is not None and restored.failed:
            return Arrival(None, restored)
        left_id = self._leaf_id
        if restore != "files" and destination.leaf_id != left_id:
            context = self._recorder.go(destination.leaf_id, *drafts)
            self._agent.replace_history(context.messages)
            self._agent.emit(BranchChanged(self._leaf_id))
        if restore == "conversation":
            await self.files.carry(left_id)
        return Arrival(destination.message if restore != "files" else None, restored)

    async def undo(self, *, uncertain: Uncertain = "keep", restore: Along = "both") -> str:
        """Take back the user's last message and what was done for it to files. Returns what that did, in words.

        Args:
            uncertain: what happens to files that changed while only a background process ran.

        Raises:
            CommandError: there is nothing to take back, files are to go back and cannot, or the system refused to
                change one. The rest is as with `go`.
        """
        destination = await self.back()
        if destination is None:
            raise CommandError("there is no message to take back")
        if uncertain == "keep":
            destination = destination.keeping_uncertain(_KEPT)
        return await self._go_along("undo", destination, restore, "/undo --conversation takes back only the message")

    async def redo(self, *, restore: Along = "both") -> str:
        """Return to where the conversation and its files were. Returns what that did, in words.

        Raises:
            CommandError: there is nothing to return to, files are to return and cannot, or the system refused to
                change one. The rest is as with `go`.
        """
        destination = await self.forward()
        if destination is None:
            raise CommandError("there is nothing to redo: nothing was undone, or a message followed")
        return await self._go_along("redo", destination, restore, "/redo --conversation returns only the conversation")

    async def travel(self, entry_id: str, *, restore: Along = "conversation") -> str:
        """Go on from an entry: before a message of the user's, behind every other one. Returns what that did, in words.

        Raises:
            CommandError: there is no such entry, the agent works, files are to go along and cannot, or the system
                refused to change one. The rest is as with `go`.
        """
        return await self._travel((await self.to(entry_id)).keeping_uncertain(), restore)

    async def restart(self) -> str:
        """Go on before everything that was said; files stay as they are. Returns what that did, in words.

        Raises:
            CommandError: the agent works. The rest is as with `go`.
        """
        said = next((node for node in self._store.tree.path() if node.type in SPEAKING), None)
        if said is None:
            return "nothing was said yet"
        return await self._travel(await self._destination(said.parent, None), "conversation")

    async def _travel(self, destination: NavigationTarget, restore: Along) -> str:
        try:
            return await self._go_along("tree", destination, restore, "only the conversation can go there")
        except AgentBusyError as error:
            raise CommandError("the agent works: wait until it is done, or stop it") from error

    async def changes(self, *, since: Since = "start") -> SessionChanges:
        try:
            return await self.files.since(self._before_last_message() if since == "message" else None)
        except OSError as error:
            raise CommandError(f"the project cannot be compared: {error.strerror or error}") from error

    def _before_last_message(self) -> str | None:
        """The entry before the last message of the person's; None if there is no such entry."""
        path = self._store.tree.path()
        said = next((node for node in reversed(path) if self._user_message(node) is not None), None)
        return None if said is None or said.parent is None else said.parent.id

    def label_here(self, text: str) -> None:
        """Give the last thing said a name; an empty text takes it away.

        Raises:
            CommandError: nothing was said yet.
            SessionWriteError: the session cannot be written.
        """
        said = next((node for node in reversed(self._store.tree.path()) if node.type in SPEAKING), None)
        if said is None:
            raise CommandError("there is no message yet to label")
        self.label(said.id, text)

    def label(self, entry_id: str, text: str | None) -> None:
        self._node(entry_id)
        self._store.append(Label(target_id=entry_id, label=(text or "").strip() or None))
        self._store.request_sync()

    async def _go_along(
        self, kind: Literal["tree", "undo", "redo"], destination: NavigationTarget, restore: Along, alone: str
    ) -> str:
        """Go there and say what that did.

        Args:
            kind: as `go` takes it.
            destination: as `go` takes it.
            alone: says how the conversation goes without the files.

        Raises:
            CommandError: files cannot be restored, or the system refused to change one; then the conversation stays.
                The rest is as with `go`.
        """
        if restore == "both" and destination.files_problem:
            raise CommandError(
                f"nothing was changed, because files cannot be restored: {destination.files_problem}. {alone}"
            )
        arrival = await self.go(destination, restore=restore, kind=kind)
        said = arrival.message
        lines = [_ARRIVED[kind] if said is None else f"took back: {_beginning(said.text)}"]
        if restore == "conversation":
            lines.append("files stay as they are")
        if arrival.files is not None:
            lines += _done(arrival.files.done)
            if changed := sum(step.by == "command" for step in arrival.files.done):
                lines.append(
                    f"note: {counted(changed, 'file')} changed while a command ran; "
                    "if another program changed them too, /redo brings that back"
                )
            lines += _not_restored(destination.files, arrival.files)
            if destination.files.uncovered:
                lines.append(f"not covered by checkpoints: {'; '.join(destination.files.uncovered)}")
            if not arrival.is_complete:
                number = counted(len(arrival.files.failed), "file")
                lines[0] = f"{number} could not be changed, so the conversation stays where it is. {_AGAIN}; {alone}"
                raise CommandError("\n".join(lines))
        if destination.remark:
            lines.append(destination.remark)
        return "\n".join(lines)

    async def _destination(self, target: Node | None, message: UserMessage | None) -> NavigationTarget:
        self._store.require_writable()  # also looking at files may have something to record: what a killed turn did
        leaf_id = target.id if target is not None else None
        nodes = self._left(target)
        left = sum(node.type == "message" for node in nodes)
        remark = _COMMITS if has_commits(self._store, nodes) else ""
        try:
            return NavigationTarget(leaf_id, message, left, await self.files.preview(leaf_id), remark=remark)
        except CommandError as error:
            problem = str(error)
        except OSError as error:
            problem = _described(error)
        return NavigationTarget(leaf_id, message, left, RestorePlan(), problem, remark)

    async def _summarised(self, destination: NavigationTarget, wanted: BranchSummaryRequest | None) -> list[Entry]:
        """The entry that tells the model of what is left; none if there is nothing to tell."""
        left = self._left(self._target(destination.leaf_id))
        if wanted is None or not left:
            return []

        async def sum_up() -> list[Entry]:
            draft = await self._summarizer.branch_summary(left, destination.leaf_id, wanted.instructions)
            return [draft] if draft is not None else []

        try:
            drafts = await self._agent.occupy(sum_up, lambda: None)
        except SummaryError as error:
            raise CommandError(f"the branch could not be summarized: {error}") from error
        if drafts is None:
            raise CommandError("stopped: the conversation is where it was")
        return drafts

    async def _restored(self, destination: NavigationTarget, restore: Restore) -> RestoreResult | None:
        """Do to the files what was announced. Nobody can stop it half-way."""
        if restore == "conversation":
            return None
        if destination.files_problem is not None:
            raise CommandError(f"files cannot be restored: {destination.files_problem}")
        with self._agent.held():
            try:
                if restore == "files":
                    return await self.files.rewind(destination.files, destination.leaf_id)
                return await self.files.restore(destination.files)
            except OSError as error:
                raise CommandError(
                    f"restoring stopped, and the conversation stays where it is: {_described(error)}. {_AGAIN}"
                ) from error

    def _remind(self, event: Event) -> None:
        """Repeat what was not restored below the run that followed: what was said before it is out of sight."""
        if isinstance(event, AgentEnd) and self._unrestored:
            lines, self._unrestored = self._unrestored, ()
            more = [f"and {len(lines) - _MOST_REMINDERS} more"] if len(lines) > _MOST_REMINDERS else []
            shown = "; ".join((*lines[:_MOST_REMINDERS], *more))
            self._notify(f"when you went back before this run, kaa did not restore all files: {shown}")

    @property
    def _leaf_id(self) -> str | None:
        leaf = self._store.tree.leaf
        return leaf.id if leaf is not None else None

    def _left(self, target: Node | None) -> list[Node]:
        """The entries between the leaf and the last one that the way to another leaf shares with it."""
        tree = self._store.tree
        shared = set(tree.path(target)) if target is not None else set()
        return [node for node in tree.path() if node not in shared]

    def _target(self, leaf_id: str | None) -> Node | None:
        return None if leaf_id is None else self._node(leaf_id)

    def _node(self, entry_id: str) -> Node:
        """The entry that was chosen.

        Raises:
            CommandError: there is no such entry.
        """
        node = self._store.tree.get(entry_id)
        if node is None:
            raise CommandError("that entry is not in this session; choose another one")
        return node

    def _restatable(self, node: Node) -> UserMessage | None:
        """What was said at an entry, if it is something to be said anew in other words."""
        if node.type == "custom_message":
            entry = read_entry(self._store, node)
            return UserMessage(entry.content) if isinstance(entry, CustomMessage) else None
        return self._user_message(node)

    def _is_of_command(self, node: Node) -> bool:
        """Whether a slash command gave the model this message."""
        if node.type != "custom_message":
            return False
        entry = read_entry(self._store, node)
        return isinstance(entry, CustomMessage) and origin_of(entry.custom_type) == "command"

    def _user_message(self, node: Node) -> UserMessage | None:
        """What the person said at an entry, without what hooks added; None if nothing."""
        if node.type != "message":
            return None
        try:
            if _LINE.decode(self._store.line(node)).message.role != "user":
                return None
        except UNREADABLE:
            pass  # decoding it whole repairs what can be repaired
        entry = read_entry(self._store, node)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            return entry.message.said
        return None


def _done(steps: Sequence[FileStep]) -> Iterator[str]:
    """A line for each of the first files, and one that counts the others."""
    for step in steps[:_MOST_STEPS]:
        yield f"{step.action}d {_in_a_line(step.path)}{_AS_LEFT if step.is_partial else ''}"
    others = Counter(step.action for step in steps[_MOST_STEPS:])
    for action in ("restore", "create", "delete"):
        if others[action]:
            yield f"{action}d {counted(others[action], 'more file')}"


def _not_restored(plan: RestorePlan, result: RestoreResult) -> Iterator[str]:
    """What is not as it was there, and why."""
    for paths, reason in by_reason(result.kept, _in_a_line):
        yield f"kept {paths}: {reason}"
    for paths, reason in by_reason(result.failed, _in_a_line):
        yield f"failed {paths}: {reason}"
    for paths, reason in by_reason(result.reduced, _in_a_line):
        yield f"{paths}: {reason}"
    for gap in plan.gaps:
        yield f"not restored: {gap}"


def _described(error: OSError) -> str:
    """What the system refused, where it says that, and what helps."""
    said = error.strerror or str(error)
    if error.filename:
        said = f"{error.filename}: {said}"
    return f"{said}; free some space on that disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else said


def _beginning(text: str) -> str:
    words = " ".join(text[:200].split())
    return words if len(words) <= 80 else f"{words[:79]}…"


def _in_a_line(path: str) -> str:
    """A name with a line break in it would look like two."""
    return "\\n".join(path.splitlines())
