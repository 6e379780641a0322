"""A conversation without any user interface: submit, steer, abort, observe. Every frontend sits on this."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kaa.core.agent import Agent, Subscriber
from kaa.core.events import AgentEnd, Event, MessageEnd, ToolExecutionEnd, UserCommandEnd
from kaa.core.messages import Json, Message, UserMessage, user_message
from kaa.core.tool import ToolResult
from kaa.core.usage import ContextParts, UsageReport
from kaa.ext.acting import IdleWork
from kaa.ext.api import BeginSession, Command, CopySession, OpenSession, RegisteredTool, Reply, Submit, Suggestion
from kaa.ext.context import StateT
from kaa.ext.errors import CommandError, OverBudgetError
from kaa.ext.hooks import (
    NavigationRequest,
    SessionEnd,
    SessionEndReason,
    SessionStart,
    StartReason,
    SwitchKind,
)
from kaa.ext.invocation import Invocation, invocation_in, needless_arguments, unknown_command
from kaa.ext.registry import Registry
from kaa.session.errors import SessionError, SessionWriteError
from kaa.session.file.file_store import FileStore
from kaa.session.tree import Node
from kaa.shell import options
from kaa.shell.active_tools import ActiveTools
from kaa.shell.containment import Containment
from kaa.shell.models.switching import Models
from kaa.shell.options import SessionChoice
from kaa.shell.permissions import ConversationPermissions
from kaa.shell.preparing import Preparation
from kaa.shell.project_trust import ProjectTrust
from kaa.shell.reloading import Reloading
from kaa.shell.session_parts import SessionParts
from kaa.shell.settings import Settings
from kaa.workspace.sandbox.sandbox import SandboxStatus

if TYPE_CHECKING:
    from kaa.ext.agents import AgentControl
    from kaa.ext.session_services import SandboxPorts
    from kaa.session.nested_transcripts import NestedTranscript
    from kaa.session.transcript import Transcript
    from kaa.session.waiting import WaitingMessages
    from kaa.shell.acting.control import Unasked
    from kaa.shell.checkpoints.travel import FileTravel
    from kaa.shell.exporting import Exporting
    from kaa.shell.extensions.control import ExtensionControl
    from kaa.shell.navigating import Navigation
    from kaa.shell.sharing import Sharing
    from kaa.shell.status import Status
    from kaa.shell.user_commands import UserCommands
    from kaa.shell.user_settings import UserSettings
    from kaa.shell.worktrees.of_conversation import ConversationWorktrees
    from kaa.workspace.file_index import FileIndex
    from kaa.workspace.git import Head


class CommandReply(msgspec.Struct, frozen=True):
    """What a slash command answered; the model was not asked.

    Attributes:
        refused: it could not do what it was asked for.
        over_budget: the budget ended its work early.
    """

    text: str
    refused: bool = False
    over_budget: bool = False


class CommandNotRun(msgspec.Struct, frozen=True):
    """A slash command was not run, and the model was not asked. `text`: why not."""

    text: str


class SessionToOpen(msgspec.Struct, frozen=True):
    """A slash command leads to another session, which the frontend opens.

    Attributes:
        text: what was done, to be shown.
        draft: to be put into an editor, if there is one.
    """

    choice: SessionChoice
    text: str = ""
    draft: str = ""


SubmitOutcome: TypeAlias = AgentEnd | CommandReply | CommandNotRun | SessionToOpen


class Conversation:
    """One conversation, from its opening (see `kaa.shell.opening`) to `close`.

    Args:
        session: the session, and those who work on it.

    Attributes:
        models: which model answers, and how hard it thinks: to show, and to switch.
        approvals: which tool calls need the person's approval, and what they may change.
        containment: what holds the tools back; to show it, and to switch the network.
        accounting: where tokens and money went, in detail.
        budget: what runs and the session may use.
        sessions: the other sessions there are.
        naming: what the session is called.
        unasked: starts runs for extensions; None as long as nothing does.
        acting: gives what carries out what extensions do.
        conversation_id: tells the conversations of one process apart.
    """

    def __init__(
        self,
        agent: Agent,
        registry: Registry,
        session: SessionParts,
        permissions: ConversationPermissions,
        containment: Containment,
        models: Models,
        reloading: Reloading,
        tools: ActiveTools,
        trust: ProjectTrust,
        closing: AsyncExitStack,
    ) -> None:
        self._agent = agent
        self.approvals = permissions
        self.containment = containment
        self._registry = registry
        self._session = session
        self.models = models
        self.accounting = session.accounting
        self.budget = session.budgeting
        self.sessions = session.others
        self.naming = session.naming
        self.compaction = session.compaction
        self.unasked: Unasked | None = None
        permissions.beside = self._beside
        self.acting = cache(lambda: session.acting(lambda: self.unasked, lambda: self.approvals.policy))
        self.conversation_id = registry.context.conversation_id
        self.session_id = session.store.header.id
        self.asker = registry.context.asker
        self._reloading = reloading
        self._tools = tools
        self._trust = trust
        self.workspace = registry.context.workspace
        self._user_commands = cache(partial(_user_commands, agent, session, containment))
        self._files: FileIndex | None = None
        self._closing = closing
        self._has_begun = False
        self._waiting = session.waiting
        self._waiting_is_kept = False
        closing.push_async_callback(session.checkpoints.close)
        closing.push_async_callback(self._close_user_commands)
        closing.push_async_callback(self._close_files)
        closing.push_async_callback(session.naming.close)
        expect = containment.expect_checkpoints if session.checkpoints.are_wanted else lambda: None
        preparation = Preparation(containment.warm_up, expect, registry.risk_of)
        closing.push_async_callback(preparation.close)
        agent.subscribe(preparation.observe)
        agent.subscribe(self._keep_up)
        agent.subscribe(registry.notify)
        registry.running.announce = agent.emit
        session.agents.subscribe(registry.notify)

    @property
    def files(self) -> "FileIndex":
        """The paths of the project, to complete what is typed."""
        if self._files is None:
            from kaa.workspace.file_index import FileIndex  # lazy: only where somebody types

            self._files = FileIndex(self.workspace)
        return self._files

    @property
    def session_header(self) -> dict[str, Json]:
        """The session's header as the session file has it."""
        header: dict[str, Json] = msgspec.to_builtins(self._session.store.header)
        return header

    @property
    def session_path(self) -> str | None:
        return None if self._session.store.path is None else str(self._session.store.path)

    @property
    def is_kept(self) -> bool:
        """Whether what is said here is written into the session's file."""
        return isinstance(self._session.store, FileStore)

    @property
    def model_name(self) -> str:
        return self.models.current.name

    @property
    def usage(self) -> UsageReport:
        return self._session.accounting.report()

    def context_parts(self) -> ContextParts:
        return self._session.accounting.context_parts()

    @property
    def navigation(self) -> "Navigation":
        return self._session.navigation()

    @property
    def extensions(self) -> "ExtensionControl":
        return self._session.extensions()

    @property
    def checkpoints(self) -> "FileTravel":
        """What the project's files were like."""
        return self._session.navigation().files

    @property
    def exporting(self) -> "Exporting":
        """Writes the session into files of the user's, and takes such files in."""
        return self._session.exporting()

    @property
    def sharing(self) -> "Sharing":
        """Puts the session where others can read it."""
        from kaa.shell.sharing import Sharing  # lazy: few sessions are shared

        return Sharing(self._session.exporting())

    @property
    def worktrees(self) -> "ConversationWorktrees":
        return self._session.worktrees()

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        """The object of this class that the conversation keeps. See `ConversationContext.state`."""
        return self._registry.context.state(kind, make)

    @property
    def is_running(self) -> bool:
        return self._agent.is_running

    async def status(self) -> "Status":
        """All that a status line shows. Cheap enough to ask after each batch of events."""
        from kaa.shell.status import Status  # lazy: only some frontends show it

        sandbox, problem = await self._sandbox_status()
        return Status(
            model=self.models.current,
            session_path=self.session_path,
            session_name=self._session.naming.name,
            cwd=self.workspace.root,
            usage=self.usage,
            sandbox=sandbox,
            sandbox_problem=problem,
            mode=self.approvals.policy,
            checkpoints_problem=self._session.checkpoints.problem,
            jobs=sum(process.state == "running" for process in self.workspace.processes.list()),
            beside=self._beside(),
            ports=self.containment.open_ports,
        )

    def _beside(self) -> int:
        return 0 if self.unasked is None else self.unasked.beside

    async def git_head(self) -> "Head | None":
        """What is checked out in the project; None if git does not know. Runs git: ask seldom."""
        from kaa.workspace.git import ProjectRepository  # lazy: only who shows it needs it

        return await ProjectRepository(self.workspace).head()

    def transcript(self) -> "Transcript":
        """The conversation as it is to be shown. Cheap however long it is; its entries may be read from any thread."""
        from kaa.session.transcript import Transcript  # lazy: a printed answer shows no conversation

        return Transcript(self._session.store)

    async def nested_transcripts(self, transcript: "Transcript") -> "Sequence[NestedTranscript]":
        """The work of the agents of the conversation, within its transcript."""
        from kaa.ext.agents import AgentError  # lazy, both: few want to see it
        from kaa.session.nested_transcripts import nested_transcripts

        def entries_of(agent: str) -> "Transcript":
            try:
                return self.agents.entries(agent)
            except AgentError as error:
                raise SessionError(str(error)) from error

        return await asyncio.to_thread(nested_transcripts, self._session.store, transcript, entries_of)

    @property
    def messages(self) -> Sequence[Message]:
        """What the model is told of the conversation so far."""
        return self._agent.messages

    @property
    def leaf_id(self) -> str | None:
        """The entry that the conversation goes on from; None for before the first."""
        leaf = self._session.store.tree.leaf
        return None if leaf is None else leaf.id

    def entries(self) -> list[tuple[Node, bytes]]:
        """The entries of all branches, each with its line, in the order of the session's file.

        Raises:
            SessionReadError: the disk failed.
        """
        store = self._session.store
        return [(node, store.line(node)) for node in store.tree.nodes]

    def on_entries(self, observer: Callable[[bytes], None]) -> None:
        """Call `observer` with every entry that the session gets from now on, as the session's file has it."""
        store = self._session.store
        store.tree.observe(lambda node: observer(store.line(node)))

    @property
    def settings(self) -> Settings:
        return self._reloading.settings

    def adjust(self, settings: Settings) -> None:
        """Put other settings in force in this conversation, until they are read again. See `Reloading.adjust`."""
        self._reloading.adjust(settings)

    @property
    def user_settings(self) -> "UserSettings":
        """The user's settings: to list them, and to change them for good."""
        from kaa.shell.user_settings import UserSettings  # lazy: few conversations change settings

        return UserSettings(
            self._reloading.file,
            self.workspace.root,
            lambda: self._reloading.settings,
            self._reloading.reload,
            self.approvals.values,
            self._registry.settings,
        )

    @property
    def active_tools(self) -> tuple[str, ...]:
        return self._agent.tool_names

    @property
    def tools(self) -> tuple[RegisteredTool, ...]:
        return tuple(tool for tool in self._registry.tools if tool.name in self._agent.tool_names)

    async def call_tool(
        self, name: str, arguments: dict[str, Json], *, update: Callable[[str, int], object] | None = None
    ) -> ToolResult:
        """Call a tool beside the conversation, between the same hooks and approvals. See `ConversationActions`."""
        return await self._registry.context.call_tool(name, arguments, update=update)

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(self._registry.commands.values())

    @property
    def call_titles(self) -> dict[str, str]:
        """The titles of tool calls that extensions gave, by tool, as templates (`kaa.ext.call_titles`)."""
        return {tool.name: tool.title for tool in self._registry.tools if tool.title}

    @property
    def theme_folders(self) -> tuple[str, ...]:
        """Folders of extensions with themes of the terminal."""
        return self._registry.theme_folders

    def author_of(self, command: str) -> str:
        """The extension that a slash command is from, as its file if it has one; empty for kaa's own."""
        return self._registry.author_of(command)

    async def complete_command(self, name: str, typed: str) -> tuple[Suggestion, ...]:
        """What can stand behind the name of a slash command, where `typed` stands so far."""
        return await self._registry.complete(name, typed, self)

    @property
    def completes_mentions(self) -> bool:
        """Whether an extension completes what follows an `@`, besides files."""
        return self._registry.completes_mentions

    async def complete_mention(self, typed: str) -> tuple[Suggestion, ...]:
        """What of extensions can stand behind an `@`, where `typed` stands so far."""
        return await self._registry.complete_mention(typed, self)

    def on_registrations(self, observer: Callable[[], None]) -> Callable[[], None]:
        """Call `observer` when tools and commands came or went. Returns a function that ends this."""
        return self._registry.subscribe(observer)

    async def describe_sandbox(self) -> str:
        status = await self.containment.status()
        if status is None:
            return "nothing needs to be held back"
        rows = {
            "sandbox": status.tier,
            "mode": status.mode,
            "network": status.network,
            "approvals": self.approvals.policy,
        }
        if status.mode == "workspace-write" and not status.git_writable:
            rows["git"] = "read-only"
        lines = [f"{name:<9} {value}" for name, value in rows.items()]
        return "\n".join([*lines, *(f"warning: {warning}" for warning in status.warnings)])

    @property
    def network(self) -> str:
        """What commands may reach now, answers of this session included; empty where nothing is held back."""
        return self.containment.reachable

    def set_network(self, text: str, *, named: bool = False) -> str:
        """Change what commands may reach, running ones too. Returns the state now. See `Containment.set_network`."""
        state = self.containment.set_network(text, named=named)
        self.approvals.keep()
        return state

    @property
    def ports(self) -> "SandboxPorts":
        return self.containment.ports

    @property
    def agents(self) -> "AgentControl":
        """Those that work or have worked for the conversation."""
        return self._registry.context.agents

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Pass every event to `subscriber`, after it has been recorded. Returns a function that ends this."""
        return self._agent.subscribe(subscriber)

    def subscribe_agents(self, subscriber: Subscriber) -> Callable[[], None]:
        """Pass every event of the agents that tools run to `subscriber`; each carries the agent's id."""
        return self._session.agents.subscribe(subscriber)

    @contextmanager
    def recording(self, message: UserMessage, recorded: Callable[[], None]) -> Iterator[None]:
        """Call `recorded` when the session gets a message within the block, as hooks made it: or a later one."""

        def note(event: Event) -> None:
            match event:
                case MessageEnd(UserMessage(origin=message.origin, timestamp=time)) if time >= message.timestamp:
                    recorded()
                case _:
                    pass

        unsubscribe = self.subscribe(note)
        try:
            yield
        finally:
            unsubscribe()

    async def submit(self, message: UserMessage | str) -> SubmitOutcome:
        """Do what the user asks: run a slash command, or give the message to the model and work to the end.

        Raises:
            AgentBusyError: the agent is working; use `steer` or `follow_up`.
            SessionViewedError: the session is open read-only, and this would change it or the project.
            SessionWriteError: the session can no longer be written.
            MessageBlockedError: an extension keeps the message from the model.
            ExtensionError: a command or a hook for user messages failed.
        """
        if isinstance(message, str):
            message = user_message(message)
        called = invocation_in(message) if message.note is None else None
        if not self._agent.is_running and (called is None or called.name != "reload"):  # which does it, and more
            await self._session.follow_extensions()
            await self._registry.session.settled()
        if called is not None:
            if not self._agent.is_running:
                with suppress(SessionWriteError):  # commands can still help
                    await self._catch_up()
            answer = await self._run_called(called)
            if not isinstance(answer, Submit):
                return answer
            message = user_message(answer.text, answer.images, origin="command")
            async with AsyncExitStack() as run:
                if answer.read_only:
                    await run.enter_async_context(self.approvals.reading_only())
                if answer.allow:
                    run.enter_context(self.approvals.allowing(answer.allow))
                if answer.models or answer.thinking:
                    await run.enter_async_context(self.models.in_run(answer.models, answer.thinking))
                return await self._say(message)
        return await self._say(message)

    async def _catch_up(self) -> None:
        """Write what a full disk kept from the session, before the conversation goes on."""
        recorder = self._session.recorder
        try:
            context = recorder.catch_up()
        except SessionWriteError:
            with suppress(OSError):
                await self.workspace.let_go()  # the user may have removed something that still has its space
            context = recorder.catch_up()
        if context is not None:
            self._agent.replace_history(context.messages)

    async def _say(self, message: UserMessage) -> AgentEnd:
        self._session.recorder.require_writable()
        if not self._agent.is_running:
            await self._catch_up()
        if message.note is None:
            message = await self._registry.run.user_message(message)
        return await self._agent.run(message)

    def queue(self, message: UserMessage, *, steer: bool) -> None:
        """Give the model a message within the run: as soon as possible, or when it would stop."""
        if not self._waiting_is_kept and (kept := self._kept_waiting()) is not None:
            self._waiting_is_kept = True
            kept.follow(self._agent)
        (self._agent.steer if steer else self._agent.follow_up)(message)

    async def run_idle_work(self, extension: str, work: IdleWork) -> None:
        """Call a function that an extension left for when nothing is under way; its failure is reported."""
        await self._registry.run_idle_work(extension, work, self)

    async def refresh_extensions(self) -> None:
        """Load changed and new extensions, drop removed ones, and say so."""
        await self._session.refresh_extensions()

    async def steer(self, message: UserMessage) -> None:
        """Give the model this message as soon as the running tools are done.

        Raises:
            MessageBlockedError: an extension keeps it from the model.
            ExtensionError: a hook for user messages failed.
        """
        self.queue(await self._registry.run.user_message(message), steer=True)

    async def follow_up(self, message: UserMessage) -> None:
        """Give the model this message when it would stop. Raises as `steer` does."""
        self.queue(await self._registry.run.user_message(message), steer=False)

    def _kept_waiting(self) -> "WaitingMessages | None":
        """What is kept beside the session, so that neither a kill nor an end loses it."""
        if self._waiting is None and isinstance(store := self._session.store, FileStore):
            from kaa.session.waiting import WaitingMessages  # lazy: in many conversations nothing waits

            self._waiting = WaitingMessages(store.path, (), self._session.notify)
        return self._waiting

    def take_left(self) -> list[UserMessage]:
        """Take what the person had sent, and the model had not got, when the session's kaa ended."""
        return [] if self._waiting is None else self._waiting.take_left()

    def hold(self, messages: Sequence[UserMessage]) -> None:
        """Keep messages that were taken back beside the session until `let_go`, so that a kill does not lose them."""
        if messages and (kept := self._kept_waiting()) is not None:
            kept.hold(messages)

    def let_go(self, messages: Sequence[UserMessage]) -> None:
        """Whoever took messages back, also with `take_left`, keeps them now."""
        if messages and self._waiting is not None:
            self._waiting.let_go(messages)

    def leave(self, messages: Sequence[UserMessage]) -> None:
        """Keep messages that the model did not get for the next opening of the session."""
        if messages and (kept := self._kept_waiting()) is not None:
            kept.leave(messages)

    @property
    def waiting(self) -> Sequence[UserMessage]:
        """The messages that wait to be given to the model."""
        return self._agent.waiting

    @property
    def queued(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts that wait: those that steer, and those for when the model would stop."""
        return self._agent.queued

    @property
    def has_queued(self) -> bool:
        """Whether messages wait to be given to the model."""
        return self._agent.has_queued

    def dequeue(self) -> UserMessage | None:
        """Take back the message of the person that was queued last."""
        return self._agent.dequeue()

    def clear_queues(self) -> list[UserMessage]:
        """Take back everything that waits, in the order it would have been given."""
        return self._agent.clear_queues()

    async def run_command(self, command: str, *, in_context: bool) -> UserCommandEnd:
        """Run a command of the user's own, with the user's rights. See `UserCommands.run`."""
        return await self._user_commands().run(command, in_context=in_context)

    async def review_trust(self) -> str:
        """Ask whether the project may configure kaa. See `CommandContext.review_trust`."""
        return await self._trust.review(self._tools, self._agent)

    async def reload(self) -> str:
        """Read settings, rules, models, keys, instructions and changed extensions again. See `Reloading.reload`."""
        lines = [await self._reloading.reload(), *await self._trust.renew(self._tools, self._agent)]
        await self._registry.session.settled()
        return "\n".join(lines)

    def abort_command(self) -> None:
        """Stop a command of the user's own."""
        if self._user_commands.cache_info().currsize:
            self._user_commands().abort()

    def abort(self) -> None:
        """Stop what is under way: the agent, hooks, and a command of the user's own; or else a slash command.

        A slash command that occupies the agent, such as `/compact`, ends in its own way, and one that must not be left
        half done, such as `/undo`, goes on.
        """
        self._registry.running.stop(commands=not self._agent.is_running)
        self._agent.abort()
        self.abort_command()

    async def begin(self, reason: StartReason) -> None:
        """Run the hooks of extensions for the start. Call it once, before the first message."""
        self._has_begun = True
        await self._registry.session.started(SessionStart(reason, self.session_id, self.session_path))

    async def allow_switch(self, kind: SwitchKind, target: str | None) -> None:
        """Ask extensions whether another session may take the place of this one.

        Args:
            target: its path or id; None for a new one.

        Raises:
            NavigationBlockedError: an extension objects.
        """
        await self._registry.session.before_navigation(NavigationRequest(kind, target))

    async def close(self, reason: SessionEndReason = "quit") -> None:
        """Wait until the session is safe on the disk and let go of everything; one step that fails skips no other.

        Args:
            reason: why, for the hooks of extensions for the end.

        Raises:
            SessionWriteError: the disk failed.
        """
        try:
            if self._has_begun:
                self.approvals.keep()
                await self._registry.session.ended(SessionEnd(reason, self.session_id, self.session_path))
        finally:
            await self._closing.aclose()

    async def _run_called(self, called: Invocation) -> CommandReply | CommandNotRun | SessionToOpen | Submit:
        """Run a slash command. Returns what it answered, or what it has for the model."""
        if called.name not in (known := self._registry.commands):
            return CommandNotRun(unknown_command(called.name, known))
        if called.arguments and known[called.name].argument_hint is None:
            return CommandNotRun(needless_arguments(called))
        if reason := self._registry.obstacle(called.name, self, is_running=self.is_running):
            return CommandNotRun(reason)
        try:
            action = await self._registry.run_command(called.name, called.arguments, self)
        except CommandError as error:
            return CommandReply(str(error), refused=True, over_budget=isinstance(error, OverBudgetError))
        match action:
            case None:
                return CommandReply("")
            case Reply(text=text, over_budget=over_budget):
                return CommandReply(text, over_budget=over_budget)
            case Submit():
                return action
            case OpenSession(path=path, text=text):
                return SessionToOpen(options.ResumeSession(path), text)
            case BeginSession(text=text):
                return SessionToOpen(options.NewSession(), text)
            case CopySession(path=path, text=text, before=None, draft=draft):
                return SessionToOpen(options.CloneSession(path), text, draft)
            case CopySession(path=path, text=text, before=before, draft=draft):
                return SessionToOpen(options.ForkSession(path, before), text, draft)

    async def _sandbox_status(self) -> tuple[SandboxStatus | None, str | None]:
        """What holds tools back, or why that is not known."""
        try:
            return await self.containment.status(), None
        except OSError as error:
            return None, str(error)

    def _outdate_files(self) -> None:
        if self._files is not None:
            self._files.invalidate()

    async def _close_files(self) -> None:
        if self._files is not None:
            await self._files.close()

    async def _close_user_commands(self) -> None:
        if self._user_commands.cache_info().currsize:
            await self._user_commands().close()

    def _keep_up(self, event: Event) -> None:
        match event:
            case ToolExecutionEnd() if self._registry.risk_of(event.tool_name) != "read":
                self._outdate_files()
            case UserCommandEnd():
                self._outdate_files()
            case AgentEnd():
                self.approvals.keep()  # hosts that were allowed by answers
            case _:
                pass


def _user_commands(agent: Agent, session: SessionParts, containment: Containment) -> "UserCommands":
    from kaa.shell.user_commands import UserCommands  # lazy: few conversations have some

    before = session.checkpoints.before_change
    return UserCommands(agent, session.recorder, lambda: containment.unconfined(None), before)
