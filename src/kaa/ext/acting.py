"""What extensions can do with a conversation, from hooks, tools, handlers, commands and shortcuts alike."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    from kaa.core.budget import Budget, LimitUsage
    from kaa.core.messages import Json, Message
    from kaa.core.provider import ThinkingLevel
    from kaa.core.tool import ToolResult
    from kaa.ext.agents import AgentControl, AgentResult, AgentRunner
    from kaa.ext.choices import OtherFiles, SessionModels
    from kaa.ext.command_context import CommandContext
    from kaa.ext.command_reading import CommandReading
    from kaa.ext.completions import Completion, CompletionTask
    from kaa.ext.context import ConversationContext
    from kaa.ext.conversation_session import ConversationSession
    from kaa.ext.features import Features
    from kaa.ext.flags import FlagValue
    from kaa.ext.navigation import SessionChanges, Since
    from kaa.ext.registration.resources import SettingsT
    from kaa.ext.scope import Scope
    from kaa.ext.session_services import SessionNaming
    from kaa.ext.showing import ConversationDisplay, Show
    from kaa.ext.stores import Store, StoreScope
    from kaa.ext.tools import RegisteredTool

ValueT = TypeVar("ValueT")

IdleWork: TypeAlias = "Callable[[CommandContext], Awaitable[None]]"


class ConversationControl(Protocol):
    """Carries out what extensions ask of a conversation. `extension`: the key of the one that asks."""

    def send(self, extension: str, text: str, *, steer: bool) -> None:
        """See `ConversationActions.send` and `steer`."""

    def when_idle(self, extension: str, work: IdleWork) -> None:
        """See `ConversationActions.when_idle`."""

    def run_beside(self, extension: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """See `ConversationActions.run_beside`."""

    def session(self, extension: str) -> "ConversationSession":
        """See `ConversationActions.session`."""

    def store(self, extension: str, scope: "StoreScope") -> "Store":
        """See `ConversationActions.store`."""

    @property
    def models(self) -> "SessionModels":
        """See `ConversationActions.models`."""

    @property
    def naming(self) -> "SessionNaming":
        """See `ConversationActions.naming`."""

    @property
    def active_tools(self) -> tuple[str, ...]:
        """See `ConversationActions.active_tools`."""

    @property
    def deferred_tools(self) -> "dict[str, RegisteredTool]":
        """See `ConversationActions.deferred_tools`."""

    def can_call(self, name: str) -> bool:
        """Whether extensions can call the tool, between hooks and approvals: the model has it, had it, or could."""

    def hidden_tool(self, name: str) -> "tuple[RegisteredTool, Scope]":
        """The tool of this name that only extensions call, and its extension.

        Raises:
            RegistrationError: there is none.
        """

    def activate_tool(self, name: str) -> None:
        """See `ConversationActions.activate_tool`."""

    def deactivate_tool(self, name: str) -> None:
        """See `ConversationActions.deactivate_tool`."""

    @property
    def approval_mode(self) -> str:
        """See `ConversationActions.approval_mode`."""

    @property
    def features(self) -> "Features":
        """See `ConversationActions.features`."""

    @property
    def verify_commands(self) -> tuple[str, ...]:
        """See `ConversationActions.verify_commands`."""

    def read_command(self, command: str) -> "CommandReading":
        """See `ConversationActions.read_command`."""

    @property
    def limits(self) -> "Sequence[LimitUsage]":
        """See `ConversationActions.limits`."""

    @property
    def other_files(self) -> "OtherFiles":
        """See `ConversationActions.other_files`."""

    async def changes(self, since: "Since") -> "SessionChanges":
        """See `ConversationActions.changes`."""

    def settings(self, extension: str, kind: "type[SettingsT]") -> "SettingsT":
        """See `ConversationActions.settings`."""

    def flag(self, extension: str, name: str) -> "FlagValue | None":
        """See `ConversationActions.flag`."""

    async def complete(self, extension: str, task: "CompletionTask") -> "Completion":
        """See `ConversationActions.complete`."""


class ConversationActions(Protocol):
    """What an extension can do with a conversation.

    No method here waits for the run, so hooks and tools within a run can call all of them: `send`, `steer`, `when_idle`
    and `session.add_message` queue and return at once, `complete` and `run_agent` wait for requests of their own.

    Attributes:
        extension: the name of the extension: that of its file or folder.
    """

    extension: str
    _control: Callable[[], ConversationControl] | None
    _agents: "Callable[[], AgentRunner] | None"
    _display: "Callable[[], ConversationDisplay] | None"
    _scope: "Scope | None"
    _untimed: Callable[[], AbstractContextManager[None]]
    _call_id: str
    _is_apart: bool
    _show_work: "Callable[[str], object] | None"

    @property
    def show(self) -> "Show":
        """Shows notices, status sections, widgets and other things to the user."""
        from kaa.ext.showing import Show  # lazy: few extensions show something

        return Show(None if self._display is None else self._display(), self._scope)

    def send(self, text: str) -> None:
        """Give the model a message; it starts a run if none is under way, and otherwise waits until the run would end.

        The session, the terminal and rpc mode name the extension as its author. Slash commands in it do not run, and
        `on_user_message` hooks do not see it. If the user stops the run, messages that wait are dropped.

        Raises:
            CommandError: the text is empty, or extensions sent too many messages since the last one of the user.
        """
        self._controlled().send(self.extension, text, steer=False)

    def steer(self, text: str) -> None:
        """Give the model a message as soon as the running tools are done. Without a run it does what `send` does.

        Raises:
            CommandError: as `send` does.
        """
        self._controlled().send(self.extension, text, steer=True)

    def when_idle(self, work: IdleWork) -> None:
        """Call an async function with a `CommandContext` when the agent does not work: at once, or after the run.

        So a hook can do what is impossible during a run: compact, undo, go elsewhere in the session.

        Raises:
            CommandError: too many functions wait already.
        """
        self._controlled().when_idle(self.extension, work)

    def run_beside(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Start an async function that goes on beside the conversation, while others run and the user types.

        Print and JSON mode wait for it before they end. Stopping a run does not stop it; the end of the conversation
        cancels it. A failure is reported to the user.

        Raises:
            CommandError: the conversation is not open.
        """
        self._controlled().run_beside(self.extension, work)

    def waiting(self) -> AbstractContextManager[None]:
        """The time within this context counts for no limit of a hook: for work that has a limit of its own."""
        return self._untimed()

    @property
    def session(self) -> "ConversationSession":
        """The session: entries and messages of the extension, and what was said."""
        return self._controlled().session(self.extension)

    def store(self, scope: "StoreScope") -> "Store":
        """Data that the extension keeps: of the user, of the project, or of the session."""
        return self._controlled().store(self.extension, scope)

    def settings(self, kind: "type[SettingsT]") -> "SettingsT":
        """The settings of the extension as they are now: those of the project over those for all projects.

        Args:
            kind: what `ExtensionAPI.settings` got.

        Raises:
            CommandError: settings.json has a wrong value; the message names the file and the key.
        """
        return self._controlled().settings(self.extension, kind)

    @property
    def features(self) -> "Features":
        """The measures that are in force for the model of the conversation (`features` in settings.json)."""
        return self._controlled().features

    @property
    def verify_commands(self) -> tuple[str, ...]:
        """The commands that the user or the trusted project verifies work with (`verify` in settings.json)."""
        return self._controlled().verify_commands

    def read_command(self, command: str) -> "CommandReading":
        """What a command of bash would run, as approvals read it. Raises nothing, whatever the command is."""
        return self._controlled().read_command(command)

    @property
    def limits(self) -> "Sequence[LimitUsage]":
        """How much is used of each limit that the user set for the run under way and for the session."""
        return self._controlled().limits

    @property
    def other_files(self) -> "OtherFiles":
        """What is to be done about changes to files that a step of a plan does not name (`plan` in settings.json)."""
        return self._controlled().other_files

    async def changes(self, *, since: "Since" = "start") -> "SessionChanges":
        """What the session did to files until now, on the current branch, also within a run.

        Args:
            since: what the present files are compared with: those at the start of the session, or before the last
                message of the person's.

        Raises:
            CommandError: that is not known; the message says why.
        """
        return await self._controlled().changes(since)

    def flag(self, name: str) -> "FlagValue | None":
        """The value of an option of the command line that `ExtensionAPI.flag` added.

        Raises:
            CommandError: the extension has no such option.
        """
        return self._controlled().flag(self.extension, name)

    @property
    def models(self) -> "SessionModels":
        """Which model answers, and how hard it thinks; both can be switched for the next request, also within a run."""
        return self._controlled().models

    @property
    def naming(self) -> "SessionNaming":
        """The name of the session."""
        return self._controlled().naming

    @property
    def approval_mode(self) -> str:
        """The mode of approvals in force, such as `auto` or `plan`; see docs/approvals.md."""
        return self._controlled().approval_mode

    @property
    def active_tools(self) -> tuple[str, ...]:
        """Names of the active tools."""
        return self._controlled().active_tools

    @property
    def deferred_tools(self) -> "dict[str, RegisteredTool]":
        """The deferred tools that are not active and that the user did not exclude, by name."""
        return self._controlled().deferred_tools

    async def call_tool(
        self, name: str, arguments: "dict[str, Json]", *, update: "Callable[[str, int], object] | None" = None
    ) -> "ToolResult":
        """Call a tool. It works in the workspace of this context.

        A tool that the model has, or a deferred one, runs as a call of the model's: hooks and approvals judge it,
        questions and events name the extension, and the result says what went wrong. A hidden tool of any extension
        runs at once. The time counts for no limit of a hook.

        Args:
            name: of the tool.
            arguments: of the call.
            update: gets the output of the call while it runs, and how many bytes were left out before it. That of a
                `ToolContext` shows it in the card of its call.

        Raises:
            RegistrationError: no tool of this name is active, deferred or hidden.
            ArgumentError: the arguments do not fit the schema of a hidden tool.
            ToolError: a hidden tool could not do its work, or calls are within each other too deep.
        """

    def activate_tool(self, name: str) -> None:
        """Let the model call a registered tool that is not active, from the next request on, in this run of kaa.

        The system prompt changes with the next run. What servers keep of the conversation is lost once, because tools
        come before it.

        Raises:
            RegistrationError: no such tool is registered, or the user excluded it. That it is active already is no
                error.
        """
        self._controlled().activate_tool(name)

    def deactivate_tool(self, name: str) -> None:
        """Take a tool from the model, as `activate_tool` gives it. That it is not active is no error."""
        self._controlled().deactivate_tool(name)

    @overload
    async def complete(
        self,
        prompt: "str | Sequence[Message]",
        *,
        system: str = "",
        model: str | None = None,
        max_tokens: int = 4096,
        schema: None = None,
    ) -> "Completion": ...

    @overload
    async def complete(
        self,
        prompt: "str | Sequence[Message]",
        *,
        system: str = "",
        model: str | None = None,
        max_tokens: int = 4096,
        schema: type[ValueT],
    ) -> ValueT: ...

    async def complete(
        self,
        prompt: "str | Sequence[Message]",
        *,
        system: str = "",
        model: str | None = None,
        max_tokens: int = 4096,
        schema: type[ValueT] | None = None,
    ) -> "Completion | ValueT":
        """Ask a model once, without tools, and wait for its answer.

        The budgets of the run and the session pay; the session notes the usage with the name of the extension. The
        time counts for no limit of a hook.

        Args:
            prompt: a text, or messages of which the last is the user's.
            system: the system prompt.
            model: as `--model` takes it; None for the model in force.
            max_tokens: the most that the answer may have.
            schema: a type that a parameter of a tool could have: the model answers with JSON that fits it, and the
                result is the value. An answer that does not fit is sent back once, with what is wrong.

        Raises:
            ValueError: the prompt is empty.
            TypeError: `schema` has no JSON Schema.
            CompletionError: the model cannot be asked, or the answer is empty, was cut off or does not fit.
        """
        from kaa.core.messages import user_message  # lazy, both: few extensions ask
        from kaa.ext.completions import CompletionTask

        if not prompt or (isinstance(prompt, str) and not prompt.strip()):
            raise ValueError("the prompt of complete is empty: ask something")
        if max_tokens < 1:
            raise ValueError(f"max_tokens of complete is {max_tokens}: use at least 1")
        messages = (user_message(prompt, origin="extension"),) if isinstance(prompt, str) else tuple(prompt)
        task, ask = (
            CompletionTask(messages, system, model, max_tokens),
            partial(self._controlled().complete, self.extension),
        )
        with self._untimed():
            if schema is None:
                return await ask(task)
            from kaa.ext.structured_answers import structured_answer  # lazy, likewise

            return await structured_answer(schema, task, ask)

    async def run_agent(  # noqa: PLR0913 - a right, a limit or a choice each
        self,
        prompt: str,
        *,
        name: str = "agent",
        system_prompt: str | None = None,
        model: str | Sequence[str] | None = None,
        thinking: "ThinkingLevel | None" = None,
        tools: Sequence[str] | None = None,
        writable: Sequence[str] | None = (),
        hosts: Sequence[str] | None = (),
        budget: "Budget | None" = None,
        asks: bool = True,
        resume: str | None = None,
        only: Sequence[str] = (),
        denied: Sequence[str] = (),
        isolated: bool = False,
    ) -> "AgentResult":
        """Run an agent with a context of its own to its end. Cancelling the call stops it.

        A call of a tool in which it runs shows a line about each call of the agent.

        What it uses is paid from the conversation's budget. Its calls need the same approvals as the conversation's
        own; questions carry its id. Nobody can let its calls out of a narrowed workspace. The time counts for no limit
        of a hook.

        Args:
            prompt: the task; all that it knows of the conversation.
            name: the beginning of its id: one line of printable characters, at most 64.
            system_prompt: replaces kaa's own.
            model: as `--model` takes it; of several, the first that there is, or else that in force; None for that.
            thinking: its thinking level; None for that of the conversation.
            tools: names of tools; None for those active ones that work through the workspace.
            writable: directories that it may write, see `Workspace.narrowed`; by default none, None for all that the
                conversation may write.
            hosts: what its commands may reach, likewise.
            budget: limits of its own, besides those of the conversation.
            asks: whether the user is asked about its calls; otherwise what would need a question is refused.
            resume: the id of an agent that ended: it goes on, with its context, and `prompt` is what it is told next.
            only: allow rules of approvals (`bash: git *`, `write: docs/**`): of the tools that they are about, it may
                make no other calls.
            denied: deny rules of approvals, for this agent alone.
            isolated: whether it works in a worktree of its own, which stays if it changed something there; `writable`
                and `hosts` are None then.

        Raises:
            ValueError: the task is empty.
            TypeError: an argument has a wrong type.
            AgentError: it could not be run, or ended for another reason than that its work was done. As a `ToolError`
                it tells the model why.
        """
        from kaa.ext.agents import AgentError, AgentTask  # lazy: few extensions run agents

        if not isinstance(prompt, str):
            raise TypeError(f"the prompt of run_agent is {prompt!r}: use a text")
        if not prompt.strip():
            raise ValueError("the prompt of run_agent is empty: give the agent a task")
        for argument, names in (
            ("tools", tools),
            ("writable", writable),
            ("hosts", hosts),
            ("only", only),
            ("denied", denied),
        ):
            if isinstance(names, str):
                raise TypeError(f"{argument} of run_agent is the text {names!r}: use a list, [{names!r}]")
        if self._agents is None:
            raise AgentError("No agent can be run here.")
        with self._untimed():
            return await self._agents().run(
                AgentTask(
                    prompt,
                    self._call_id,
                    name,
                    system_prompt,
                    model,
                    thinking,
                    tools,
                    writable,
                    hosts,
                    budget,
                    asks,
                    self._show_work,
                    resume,
                    only,
                    denied,
                    isolated,
                    self._is_apart,
                )
            )

    def pooled(self, budget: "Budget") -> "ConversationContext":
        """A context whose agents may together use this much, besides the limits of the conversation."""

    def in_worktree(self, name: str) -> "AbstractAsyncContextManager[ConversationContext]":
        """A context whose tool calls and agents work in a worktree, with a sandbox of its own.

        Args:
            name: of the worktree, such as that of an `AgentResult`. It is created if there is none, and removed at the
                end if nothing has changed in it.

        Raises:
            AgentError: there can be no worktree here.
        """

    @property
    def agents(self) -> "AgentControl":
        """The agents of the conversation: shows, steers and stops them.

        Raises:
            RuntimeError: this context belongs to no open conversation.
        """
        return self._runner().control

    def _runner(self) -> "AgentRunner":
        if self._agents is None:
            raise RuntimeError("this context belongs to no open conversation")
        return self._agents()

    def _controlled(self) -> ConversationControl:
        if self._control is None:
            raise RuntimeError("this context belongs to no open conversation")
        return self._control()
