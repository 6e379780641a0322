"""Makes an extension of a process: registers what the process offers with `ExtensionAPI`, and calls the process."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kaa.core import events
from kaa.core.events import Event
from kaa.core.hooks import Block, ReplaceArguments
from kaa.core.messages import Json, ToolCall
from kaa.core.tool import ToolResult
from kaa.ext.context import ConversationContext
from kaa.ext.errors import RegistrationError
from kaa.ext.extension_api import Extension, ExtensionAPI
from kaa.ext.hooks import CompactionRequest, CondensedText, SessionEnd, SessionStart
from kaa.ext.places import ExtensionId
from kaa.ext.process import conversion, wire
from kaa.ext.process.called import ActionAnswer, ActionRunner, CommandCall, ProcessTool, ShortcutCall
from kaa.ext.process.host import ProcessHost
from kaa.ext.process.injections import Injections
from kaa.ext.process.manifest import Manifest, read_manifest
from kaa.ext.process.offers import (
    CommandOffer,
    CompactorOffer,
    EventHandlerOffer,
    InputTransformerOffer,
    InterceptorOffer,
    MessageHookOffer,
    Offer,
    ProviderOffer,
    SectionOffer,
    ShortcutOffer,
    ToolOffer,
)
from kaa.ext.process.process_run import PROTOCOL_VERSION, NotRunningError, Timing
from kaa.ext.process.providers import ProcessModels
from kaa.ext.process.supervisor import Supervisor
from kaa.ext.process.wire import RpcError
from kaa.ext.prompt_sections import PromptContext
from kaa.ext.registration.base import scope_of
from kaa.host.log import LOG


def process_extension(
    extension: ExtensionId, host: ProcessHost, timing: Timing | None = None, path: Path | None = None
) -> Extension:
    """The function that starts the process of a folder with a `manifest.yaml` and registers what it offers.

    It returns before the process has started; messages of the user wait for the registrations.

    Args:
        extension: which one.
        host: starts processes and answers their requests.
        timing: how long to wait for the process; None for what suits people.
        path: its folder, if that is a copy.

    Raises:
        ExtensionError: the manifest cannot be read.
    """
    manifest = read_manifest(extension, path)
    host.note_code(manifest)

    def extend(kaa: ExtensionAPI) -> None:
        scope = scope_of(kaa)
        scope.version, scope.interface = manifest.version, f"protocol {PROTOCOL_VERSION}"
        supervisor = Supervisor(manifest, host, timing or Timing(), scope.costs)
        _Bridge(kaa, manifest, supervisor).connect()
        supervisor.begin()
        kaa.on_close(supervisor.end)

    return extend


class _Verdict(msgspec.Struct, frozen=True):
    """The answer to `interceptor/before`."""

    allow: bool
    args: dict[str, Json] | None = None
    preview: str = ""


class _Details(msgspec.Struct, frozen=True):
    """The answer to `interceptor/after`."""

    details: Json = None


class _Replacement(msgspec.Struct, frozen=True):
    """The answer to `compact/execute`."""

    messages: list[Json] = []


class _Bridge:
    """Keeps the registrations of one extension as its process offers them.

    Tools and commands stay while a process is started again, and calls wait for it: the model's tools do not change.

    Args:
        kaa: registers them.
        manifest: of the extension.
        supervisor: has the process.
    """

    def __init__(self, kaa: ExtensionAPI, manifest: Manifest, supervisor: Supervisor) -> None:
        self._kaa = kaa
        self._name, self._section = manifest.extension.name, manifest.extension.key
        self._supervisor = supervisor
        self._actions = ActionRunner(manifest.extension.name, supervisor)
        self._events = _EventPump(supervisor, self._actions)
        self._injections = Injections(supervisor)
        self._models = ProcessModels(supervisor)
        self._providers: dict[str, ProviderOffer] = {}
        self._tools: dict[str, ToolOffer] = {}
        self._commands: dict[str, CommandOffer | ShortcutOffer] = {}
        self._aliases: dict[str, str] = {}  # by the names of commands that are called differently in kaa
        self._sections: list[SectionOffer] = []
        self._hooked: set[type[Offer]] = set()

    def connect(self) -> None:
        """Register what every extension process needs, and the rest when it is offered."""
        self._supervisor.on_offers = self._update
        self._supervisor.on_given_up = self._update
        self._supervisor.on_notification = self._notified
        self._kaa.on_session_start(self._started)
        self._kaa.on_session_end(self._ended)
        self._kaa.on_close(self._disconnect)
        self._kaa.before_replacing(self._supervisor.prove)

    def _notified(self, method: str, params: Mapping[str, Json], context: ConversationContext | None) -> None:
        if method != "provider/delta":
            self._actions.notified(method, params, context)
            return
        try:
            self._models.delta(params)
        except RpcError as error:
            LOG.warning("extension %s: %s: %s", self._name, method, error)

    def _disconnect(self) -> None:
        """The extension is unloaded: what its process offers while it ends is registered no more."""
        self._events.close()
        self._supervisor.on_offers = self._supervisor.on_given_up = lambda: None

    async def _started(self, _: SessionStart, context: ConversationContext) -> None:
        self._supervisor.calls.opened(context)
        await self._supervisor.ready(context.asker)

    async def _ended(self, _: SessionEnd, context: ConversationContext) -> None:
        self._supervisor.calls.closed(context)

    def _update(self) -> None:
        """Bring the registrations in line with what the process offers now."""
        self._kaa.set_problem(self._supervisor.problem)
        offers = self._supervisor.offers
        tools = {one.name: one for one in offers.tools}
        for name in [name for name, known in self._tools.items() if tools.get(name) != known]:
            self._kaa.unregister_tool(name)
            del self._tools[name]
        commands: dict[str, CommandOffer | ShortcutOffer] = {one.name: one for one in offers.commands}
        commands |= {self._shortcut_name(one): one for one in offers.shortcuts}
        for name in [name for name, known in self._commands.items() if commands.get(name) != known]:
            self._kaa.unregister_command(self._aliases.pop(name, name))
            del self._commands[name]
        providers = {one.api: one for one in offers.providers}
        for name in [name for name, known in self._providers.items() if providers.get(name) != known]:
            self._kaa.unregister_provider(name)
            del self._providers[name]
        for api, provider in providers.items():
            if api not in self._providers and self._accept(provider):
                self._providers[api] = provider
        for tool in tools.values():
            if tool.name not in self._tools and self._accept(tool):
                self._tools[tool.name] = tool
        for name, command in commands.items():
            if name not in self._commands and self._accept(command):
                self._commands[name] = command
        if offers.sections != self._sections:
            self._sections = offers.sections
            self._kaa.add_prompt_section(self._section, self._prompt)
        self._hook()

    def _accept(self, offer: ToolOffer | CommandOffer | ShortcutOffer | ProviderOffer) -> bool:
        """Register a tool, a command or a provider, unless another extension has one of this name."""
        try:
            match offer:
                case ToolOffer():
                    tool = ProcessTool(offer, self._supervisor)
                    hint = " ".join(offer.prompt_hint.split())
                    self._kaa.register_tool(
                        tool,
                        snippet=hint,
                        title=offer.title,
                        risk=self._supervisor.permissions.risk,
                        exposure="deferred" if offer.deferred else "default",
                    )
                case ProviderOffer():
                    self._kaa.register_provider(offer.api, offer.entry, self._models.stream(offer.api))
                case CommandOffer():
                    self._register(offer)
                case ShortcutOffer():
                    pressed = ShortcutCall(offer.key, self._supervisor, self._actions)
                    name, key = self._shortcut_name(offer), offer.key
                    self._kaa.register_command(name, offer.description, pressed, key=key, while_running=True)
        except RegistrationError as error:
            self._supervisor.offers.drop(offer)
            self._supervisor.refuse(str(error))
            return False
        return True

    def _register(self, offer: CommandOffer) -> None:
        """Register a command, by another name if kaa or an extension has one of its name.

        Raises:
            RegistrationError: both names are invalid or taken.
        """
        handler = CommandCall(offer.name, self._supervisor, self._actions)

        def register(name: str) -> None:
            self._kaa.register_command(name, offer.description, handler, while_running=offer.immediate)

        alias = f"{self._name}-{offer.name}"
        try:
            if offer.name in TERMINAL_NAMES:
                raise RegistrationError(f"the terminal has a command named {offer.name!r}: choose another name")
            register(offer.name)
        except RegistrationError as error:
            try:
                register(alias)
            except RegistrationError:
                raise error from None
            self._aliases[offer.name] = alias
            reason = str(error).partition(": choose another name")[0]
            self._supervisor.report(f"its command /{offer.name} is called /{alias}, because {reason}")

    def _shortcut_name(self, offer: ShortcutOffer) -> str:
        """The slash command of a shortcut, for frontends without keys."""
        return "".join(one if one.isalnum() else "-" for one in f"{self._name}-{offer.key}")

    def _hook(self) -> None:
        """Register the hooks whose first offer has come. They stay, and do nothing without an offer."""
        for kind, register in (
            (InterceptorOffer, self._hook_tools),
            (EventHandlerOffer, lambda: self._kaa.on_event(self._observe)),
            (MessageHookOffer, self._hook_messages),
            (InputTransformerOffer, self._hook_messages),
            (CompactorOffer, lambda: self._kaa.register_compactor(self._compact)),
        ):
            if kind not in self._hooked and self._supervisor.offers.has(kind):
                if register == self._hook_messages:
                    self._hooked |= {MessageHookOffer, InputTransformerOffer}
                self._hooked.add(kind)
                register()

    def _hook_tools(self) -> None:
        self._kaa.before_tool(self._before_tool)
        self._kaa.after_tool(self._after_tool)

    def _hook_messages(self) -> None:
        self._kaa.on_user_message(self._injections.on_user_message)
        self._kaa.before_request(self._injections.before_request)
        self._kaa.on_event(self._injections.observe)

    def _prompt(self, _: PromptContext) -> str | None:
        return "\n\n".join(f"# {one.title}\n\n{one.content}" for one in self._sections) or None

    def _observe(self, event: Event, context: ConversationContext) -> None:
        self._events.put(event, context)

    async def _before_tool(self, call: ToolCall, context: ConversationContext) -> Block | ReplaceArguments | None:
        arguments = call.arguments
        for one in self._supervisor.offers.interceptors:
            params = {"name": one.name, "toolName": call.name, "args": arguments}
            verdict = wire.parse(await self._supervisor.call("interceptor/before", params, context), _Verdict)
            if not verdict.allow:
                return Block(verdict.preview or f"blocked by interceptor {one.name}")
            arguments = arguments if verdict.args is None else verdict.args
        return None if arguments == call.arguments else ReplaceArguments(arguments)

    async def _after_tool(self, call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
        changed = result
        for one in self._supervisor.offers.interceptors:
            params = {"name": one.name, "toolName": call.name, "details": conversion.result_json(changed)}
            answer = wire.parse(await self._supervisor.call("interceptor/after", params, context), _Details)
            changed = conversion.changed_result(changed, answer.details) or changed
        return None if changed is result else changed

    async def _compact(self, request: CompactionRequest) -> CondensedText | None:
        if not self._supervisor.offers.has(CompactorOffer):
            return None
        messages = [conversion.compactable(message) for message in request.messages]
        if request.previous_summary:
            summary = {"content": request.previous_summary, "timestamp": "1970-01-01T00:00:00Z"}
            messages.insert(0, {"type": "user", "data": summary})
        answer = wire.parse(await self._supervisor.call("compact/execute", {"messages": messages}, None), _Replacement)
        texts = [text for message in answer.messages if (text := conversion.text_of(message))]
        return CondensedText("\n\n".join(texts)) if texts else None


TERMINAL_NAMES = frozenset(
    [
        "branch",
        "changelog",
        "clear",
        "copy",
        "detach",
        "exit",
        "fullscreen",
        "hotkeys",
        "login",
        "logout",
        "quit",
        "redraw",
        "theme",
        "transcript",
    ]
)
"""The names of commands that only the interactive terminal has; there they go before one of an extension."""


_MAX_WAITING = 1_000
# Deltas are the most of the events and the least worth; the others keep this room.
_MAX_WAITING_DELTAS = 500
_ANSWER_SECONDS = 60


class _EventPump:
    """The events that wait for a process.

    Args:
        supervisor: has the process.
        actions: carries out what the process answers.
    """

    def __init__(self, supervisor: Supervisor, actions: ActionRunner) -> None:
        self._supervisor = supervisor
        self._actions = actions
        self._waiting: asyncio.Queue[tuple[str, Event, ConversationContext]] = asyncio.Queue(_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._left_out = 0

    def put(self, event: Event, context: ConversationContext) -> None:
        """Send an event, if a handler of the process wants it. Events of agents that tools run are not sent."""
        name = "" if event.agent is not None else conversion.event_name(event)
        if not name or not self._supervisor.offers.wants(name):
            return
        is_delta = isinstance(event, events.MessageUpdate | events.ToolExecutionUpdate)
        if self._waiting.full() or (is_delta and self._waiting.qsize() >= _MAX_WAITING_DELTAS):
            self._left_out += 1
            return
        self._waiting.put_nowait((name, event, context))
        if self._task is None:
            self._task = asyncio.create_task(self._send())

    def close(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()

    async def _send(self) -> None:
        while True:
            name, event, context = await self._waiting.get()
            if self._left_out:
                LOG.warning("%d events were not sent to an extension that is too slow", self._left_out)
                self._left_out = 0
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    params = {"type": name, "data": conversion.event_data(event)}
                    answer = await self._supervisor.call("event/dispatch", params, context)
                self._actions.perform(wire.parse(answer or {}, ActionAnswer).action, context)
            except (RpcError, NotRunningError, TimeoutError) as error:
                LOG.warning("%s was not handled by an extension: %s: %s", name, type(error).__name__, error)
