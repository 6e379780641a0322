"""What the extensions of a conversation registered, as it is at the moment: tools, commands, prompt sections, hooks."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from kaa.core.events import Event
from kaa.core.tool import Tool, ToolRun
from kaa.ext.acting import IdleWork
from kaa.ext.asking import Asker
from kaa.ext.calling import Report, RunningWork, awaitable, failed, parsed, returned, tell
from kaa.ext.command_context import CommandContext, CommandControl, command_context
from kaa.ext.commands import Command, CommandAction, CommandCompleter, Reply, Suggestion, Suggestions
from kaa.ext.context import ConversationContext
from kaa.ext.errors import CommandError, ExtensionFailedError, RegistrationError
from kaa.ext.extensions import Extensions
from kaa.ext.places import ExtensionId
from kaa.ext.prompt_sections import PromptContext
from kaa.ext.run_hooks import ExtensionHooks
from kaa.ext.scope import Scope
from kaa.ext.session_hooks import SessionHooks
from kaa.ext.tools import RegisteredTool, Risk
from kaa.session.errors import SessionError
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.ext.agents import AgentRunner
    from kaa.ext.flags import FlagValue

RegisteredT = TypeVar("RegisteredT")

# Who waits longer for a suggestion has typed on.
_COMPLETION_SECONDS = 2.0


class Registry:
    """The extensions of one conversation. It keeps no copies: what is unloaded disappears at once.

    Args:
        extensions: of the process.
        context: what hooks and handlers get.
        report: gets failures that are not raised.
        names: the extensions that this conversation uses; None uses all.

    Attributes:
        run: hooks that step into runs.
        session: hooks for changes of the session.
    """

    def __init__(
        self,
        extensions: Extensions,
        context: ConversationContext,
        report: Report,
        names: Sequence[ExtensionId] | None = None,
    ) -> None:
        self._extensions = extensions
        self.session = SessionHooks(lambda: self._scopes, context, report)
        self._unannounced = report
        self._context, self._report = self.session.context, self.session.report
        self.run = ExtensionHooks(lambda: self._scopes, self._context, self._report)
        self._names = None if names is None else tuple(names)
        self._section_texts: dict[str, str] = {}  # as the sections were last
        self._completion: asyncio.Timeout | None = None  # the time limit of the one that is awaited
        self._failing_completions: set[CommandCompleter] = set()  # were reported; not again for each key that is typed

    @property
    def context(self) -> ConversationContext:
        """What hooks and handlers get."""
        return self._context

    @property
    def running(self) -> RunningWork:
        """The hooks and commands that run now."""
        return self._context.state(RunningWork, RunningWork)

    def of_agent(
        self, workspace: Workspace, asker: Asker, agents: "Callable[[], AgentRunner]", caller: str
    ) -> "Registry":
        """The same extensions for an agent that a tool runs.

        Args:
            workspace: its project.
            asker: asks the person.
            agents: gives what runs agents for its tool calls.
            caller: who makes the calls (`ConversationContext.caller`).
        """
        context = self._context.of_agent(workspace, asker, agents, caller)
        return Registry(self._extensions, context, self._unannounced, self._names)

    @property
    def names(self) -> tuple[ExtensionId, ...]:
        """The extensions that this conversation uses, also those that are disabled."""
        return self._extensions.names if self._names is None else self._names

    def use(self, names: Sequence[ExtensionId]) -> None:
        """Use these extensions from now on."""
        if self._names != (changed := tuple(names)):
            self._names = changed
            self._extensions.tell()

    def subscribe(
        self, observer: Callable[[], None], farewell: Callable[[Scope], Awaitable[None]] | None = None
    ) -> Callable[[], None]:
        """Call `observer` after extensions, or what they registered, came or went. See `Extensions.subscribe`."""
        return self._extensions.subscribe(observer, farewell)

    @property
    def tools(self) -> tuple[RegisteredTool, ...]:
        """All tools."""
        return tuple(_first_of(scope.tools for scope in self._scopes).values())

    def tool(self, name: str) -> RegisteredTool | None:
        """The tool of this name: the one that runs, and whose risk counts."""
        return next((scope.tools[name] for scope in self._scopes if name in scope.tools), None)

    def bound(self, name: str) -> Tool[ToolRun] | None:
        """The tool of this name as the loop uses it; None if there is none."""
        return next(self.all_bound([name]), None)

    def all_bound(self, names: Iterable[str]) -> Iterator[Tool[ToolRun]]:
        """The tools of these names as the loop uses them, without those that do not exist."""
        scopes = self._scopes
        for name in names:
            if (scope := next((scope for scope in scopes if name in scope.tools), None)) is not None:
                yield self._context.bind(scope.tools[name].tool, scope)

    def hidden_tool(self, name: str) -> tuple[RegisteredTool, Scope]:
        """The tool of this name that only extensions call, and its extension.

        Raises:
            RegistrationError: there is none.
        """
        hidden = {
            tool.name: (tool, scope)
            for scope in self._scopes
            for tool in scope.tools.values()
            if tool.exposure == "hidden"
        }
        if name not in hidden:
            raise RegistrationError(f"no such hidden tool: {name} (hidden tools: {', '.join(hidden) or 'none'})")
        return hidden[name]

    def risk_of(self, name: str) -> Risk:
        """What a tool can do at most; a tool that is not registered may do anything."""
        tool = self.tool(name)
        return "outside" if tool is None else tool.risk

    @property
    def commands(self) -> dict[str, Command]:
        """All slash commands by name."""
        return _first_of(scope.commands for scope in self._scopes)

    def author_of(self, command: str) -> str:
        """The extension that a slash command is from; empty for kaa's own."""
        scope, _ = self._command(command)
        return scope.author

    @property
    def settings(self) -> dict[str, type[Struct]]:
        """What declares the settings of extensions, by the key of the extension."""
        return {scope.extension.key: scope.settings for scope in self._scopes if scope.settings is not None}

    def flag(self, extension: str, name: str) -> "FlagValue | None":
        """The value of an option of the command line.

        Raises:
            CommandError: the extension has no such option.
        """
        for scope in self._scopes:
            if scope.extension.key == extension and name in scope.flags:
                return scope.flags[name].value(self._extensions.given)
        raise CommandError(f"extension {extension} has no option {name!r}: add it with kaa.flag in extend")

    def select_tools(
        self, only: Iterable[str] | None = None, without: Iterable[str] = (), *, built_in: bool = True
    ) -> tuple[RegisteredTool, ...]:
        """The tools to make active.

        Args:
            only: names; None takes every tool that is active by default, and so do names that all begin with `+`, which
                come on top.
            without: names to leave out.
            built_in: whether built-in tools are active by default.

        Raises:
            RegistrationError: a name is not registered.
        """
        known = {tool.name: tool for tool in self.tools if tool.exposure != "hidden"}
        named, unwanted = tuple(only or ()), set(without)
        added = {name[1:] for name in named if name.startswith("+")}
        listed = {name for name in named if not name.startswith("+")}
        by_default = only is None or (bool(added) and not listed)
        unknown = sorted((listed | added | unwanted) - set(known))
        if unknown:
            raise RegistrationError(f"no such tool: {', '.join(unknown)} (known: {', '.join(known)})")
        chosen = (
            tool
            for tool in known.values()
            if tool.name in added
            or tool.name in listed
            or (by_default and tool.exposure == "default" and (built_in or not tool.built_in))
        )
        return tuple(tool for tool in chosen if tool.name not in unwanted)

    def prompt_sections(self, context: PromptContext) -> tuple[tuple[str, str], ...]:
        """The name and the text of each prompt section that has something to say.

        A section that fails is reported, and stays as it was before.
        """
        sections = {name: (scope, section) for scope in self._scopes for name, section in scope.sections.items()}
        for name, (scope, section) in sections.items():
            what = f"prompt section {name!r}"
            try:
                text: object = section(context)
                if not isinstance(text, str | None):
                    raise returned(scope, what, text, "str or None")
                self._section_texts[name] = text or ""
            except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: a conversation goes on without it
                self._report(error if isinstance(error, ExtensionFailedError) else failed(scope, what, error))
        texts = {name: self._section_texts.get(name, "").strip("\n") for name in sections}
        return tuple((name, text) for name, text in texts.items() if text)

    async def run_command(self, name: str, arguments: str, control: CommandControl) -> CommandAction | None:
        """Do what a slash command does.

        Raises:
            CommandError: it cannot do it, or was stopped; the message says why.
            SessionError: the session cannot be read or written.
            ExtensionError: its handler raised something else, or returned what is no action.
        """
        scope, command = self._command(name)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                with self.running.run(scope.author, f"/{name}", limit):
                    action: object = await awaitable(command.handler(arguments, self._commanding(scope, control)))
        except (CommandError, SessionError):
            raise
        except TimeoutError as error:
            if limit.expired():
                raise CommandError(f"/{name} was stopped") from error
            raise failed(scope, f"command /{name}", error) from error
        except (Exception, SystemExit) as error:  # isolation boundary, as above
            raise failed(scope, f"command /{name}", error) from error
        if isinstance(action, str):
            return Reply(action)
        if action is None or isinstance(action, CommandAction):
            return parsed(scope, f"command /{name}", action)
        raise returned(scope, f"command /{name}", action, "a text, an action, such as Submit, or None")

    async def run_idle_work(self, extension: str, work: IdleWork, control: CommandControl) -> None:
        """Call a function that an extension left for when the agent does not work. A failure is reported.

        Args:
            extension: its key.
            work: the function.
            control: the conversation.
        """
        scope = next((scope for scope in self._scopes if scope.extension.key == extension), None)
        if scope is None:
            return  # it was unloaded meanwhile
        what = "when_idle function"
        limit = asyncio.timeout(None)
        try:
            async with limit:
                with self.running.run(scope.author, what, limit):
                    await awaitable(work(self._commanding(scope, control)))
        except TimeoutError as error:
            if not limit.expired():  # else it was stopped
                self._report(failed(scope, what, error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary, as above
            self._report(failed(scope, what, error))

    def obstacle(self, name: str, control: CommandControl, *, is_running: bool) -> str | None:
        """Why a slash command cannot be used now, in a sentence; None if it can.

        Args:
            name: of the command.
            control: the conversation.
            is_running: whether the agent works.

        Raises:
            ExtensionError: the command could not say, or returned something else.
        """
        scope, command = self._command(name)
        if is_running and not command.while_running:
            return f"/{name} cannot run while the agent works: wait until it is done, or stop it"
        if command.available is None:
            return None
        try:
            reason: object = command.available(self._commanding(scope, control))
        except (Exception, SystemExit) as error:  # isolation boundary, as above
            raise failed(scope, f"availability of /{name}", error) from error
        if isinstance(reason, str | None):
            return reason
        raise returned(scope, f"availability of /{name}", reason, "str or None")

    async def complete(self, name: str, typed: str, control: CommandControl) -> tuple[Suggestion, ...]:
        """What can stand behind the name of a slash command, none if there is no such command.

        What is typed completely comes first: that is what Enter takes. A completer that must wait has two seconds, or
        until something else is to be completed.

        Args:
            name: of the command.
            typed: what stands there so far.
            control: the conversation.
        """
        if name not in self.commands:
            return ()
        scope, command = self._command(name)
        if command.complete is None:
            return ()
        found = await self._completed(scope, f"completion of /{name}", command.complete, typed, control)
        return tuple(sorted(found, key=lambda one: one.text.rstrip() != typed.rstrip()))

    @property
    def completes_mentions(self) -> bool:
        """Whether an extension completes what follows an `@`."""
        return any(scope.mention_completers for scope in self._scopes)

    async def complete_mention(self, typed: str, control: CommandControl) -> tuple[Suggestion, ...]:
        """What can stand behind an `@`, where `typed` stands so far. Completers have the time of those of commands."""
        found: list[Suggestion] = []
        for scope in self._scopes:
            for completer in tuple(scope.mention_completers):
                found += await self._completed(scope, "completion of mentions", completer, typed, control)
        return tuple(found)

    async def _completed(
        self, scope: Scope, what: str, completer: CommandCompleter, typed: str, control: CommandControl
    ) -> tuple[Suggestion, ...]:
        try:
            completed = completer(typed, self._commanding(scope, control))
            found = tuple(await self._awaited(completed) if isinstance(completed, Awaitable) else completed)
            if not all(isinstance(one, Suggestion) for one in found):
                raise returned(scope, what, found, "a sequence of Suggestion")
            found = tuple(parsed(scope, what, one) for one in found)
        except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: without completion one can go on typing
            if completer not in self._failing_completions:
                self._failing_completions.add(completer)
                self._report(error if isinstance(error, ExtensionFailedError) else failed(scope, what, error))
            return ()
        self._failing_completions.discard(completer)
        return found

    async def _awaited(self, completed: Awaitable[Suggestions]) -> Suggestions:
        now = asyncio.get_running_loop().time()
        if self._completion is not None:
            self._completion.reschedule(now)
        limit = self._completion = asyncio.timeout_at(now + _COMPLETION_SECONDS)
        try:
            async with limit:
                return await completed
        except TimeoutError:
            if limit.expired():
                return ()
            raise
        finally:
            if self._completion is limit:
                self._completion = None

    def notify(self, event: Event) -> None:
        """Pass an event to every handler that wants it; one that raises is reported and not called again."""
        for scope in self._scopes:
            handlers = scope.handlers
            if handlers and (wanting := [one for one in handlers if one.wants(event)]):
                tell(scope, "on_event handler", wanting, handlers, event, context=self._context, report=self._report)

    @property
    def theme_folders(self) -> tuple[str, ...]:
        """Folders with themes."""
        return tuple(folder for scope in self._scopes for folder in scope.theme_folders)

    @property
    def loaded(self) -> list[Scope]:
        """The extensions that the conversation uses now."""
        return self._scopes

    @property
    def _scopes(self) -> list[Scope]:
        return self._extensions.scopes(self._names)

    def _commanding(self, scope: Scope, control: CommandControl) -> CommandContext:
        return command_context(self._context.of_extension(scope), control)

    def _command(self, name: str) -> tuple[Scope, Command]:
        return next((scope, scope.commands[name]) for scope in self._scopes if name in scope.commands)


def _first_of(registered: Iterable[Mapping[str, RegisteredT]]) -> dict[str, RegisteredT]:
    """All that was registered, by name: the first of each."""
    found: dict[str, RegisteredT] = {}
    for one in registered:
        for name, what in one.items():
            found.setdefault(name, what)
    return found


def joined_sections(sections: Iterable[tuple[str, str]]) -> str:
    """The system prompt that sections make, one empty line apart."""
    return "\n\n".join(text for _, text in sections)
