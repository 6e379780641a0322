"""Registers what a component offers: each tool, command and hook is a call of an export."""

import asyncio
from collections import deque
from typing import Any

import msgspec
from msgspec.structs import replace

from kaa.core.events import Event
from kaa.core.hooks import Block, ReplaceArguments
from kaa.core.messages import Json, TextContent, ToolCall, UserMessage
from kaa.core.provider import ToolSchema
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.command_context import CommandContext
from kaa.ext.commands import CommandAction, CommandHandler, Reply, Submit
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.errors import CommandError
from kaa.ext.extension_api import ExtensionAPI
from kaa.ext.wasm.description import ComponentFile
from kaa.ext.wasm.errors import ComponentError
from kaa.ext.wasm.host_functions import bounded, fields, json_text, record
from kaa.ext.wasm.machine import Machine
from kaa.ext.wasm.worlds import ComponentOffer
from kaa.llm.unicode_text import clean


def register(kaa: ExtensionAPI, machine: Machine, offer: ComponentOffer, found: ComponentFile) -> None:
    """Register everything.

    Raises:
        RegistrationError: a name is invalid or taken.
    """
    risk = found.described.permissions.risk
    for tool in offer.tools:
        made = _Tool(machine, offer.execute, tool.schema, found.extension.name)
        title = found.described.titles.get(tool.schema.name, "")
        kaa.register_tool(made, snippet=tool.snippet, title=title, risk=risk)
    for command in offer.commands:
        handler = _handler(machine, offer, command.name)
        hint = command.argument_hint or "[TEXT]"
        kaa.register_command(command.name, command.description, handler, argument_hint=hint)
    hooks = _Hooks(machine, offer.hooks)
    if "before-tool" in offer.hooks:
        kaa.before_tool(hooks.before_tool)
    if "after-tool" in offer.hooks:
        kaa.after_tool(hooks.after_tool)
    if "user-message" in offer.hooks:
        kaa.on_user_message(hooks.user_message)
    if offer.section is not None:
        section = offer.section
        kaa.add_prompt_section(found.extension.key, lambda _: section)
    if offer.events:
        queue = _EventQueue(machine, offer.hooks["on-event"], offer.events)
        kaa.on_event(queue.add)
        kaa.on_close(queue.close)


class _Tool:
    """A tool of a component."""

    sequential = False

    def __init__(self, machine: Machine, export: str, schema: ToolSchema, extension: str) -> None:
        self.schema = schema
        self._machine = machine
        self._export = export
        self._extension = extension

    async def run(self, arguments: dict[str, Json], run: ToolContext) -> ToolResult:
        try:
            answer: Any = await self._machine.call(
                self._export, self.schema.name, clean(run.call_id), json_text(arguments), context=run
            )
            text = bounded(answer.payload, "the result")
        except ComponentError as error:
            raise ToolError(f"{self.schema.name} of the extension {self._extension} failed: {error}") from error
        if answer.tag == "err":
            raise ToolError(text or f"{self.schema.name} failed without a reason")
        return text_result(text)


def _handler(machine: Machine, offer: ComponentOffer, name: str) -> CommandHandler:
    async def run(arguments: str, context: CommandContext) -> CommandAction | None:
        call: tuple[object, ...] = (name, clean(arguments))
        if not offer.run:  # rab's world: a command is executed as a tool
            call = (name, "", json_text({"arguments": clean(arguments)}))
        try:
            answer: Any = await machine.call(offer.run or offer.execute, *call, context=context)
        except ComponentError as error:
            raise CommandError(f"/{name} failed: {error}") from error
        if isinstance(answer, str):
            raise CommandError(answer or f"/{name} failed without a reason")
        match answer.tag, answer.payload:
            case "err", reason:
                raise CommandError(reason or f"/{name} failed without a reason")
            case (("ok" | "reply"), text):
                return Reply(text)
            case "submit", text:
                return Submit(text)
            case _:
                return None

    return run


class _Hooks:
    """The hooks of a component. What it raises is a failure of the hook."""

    def __init__(self, machine: Machine, exports: dict[str, str]) -> None:
        self._machine = machine
        self._exports = exports

    async def before_tool(self, call: ToolCall, context: ConversationContext) -> Block | ReplaceArguments | None:
        verdict: Any = await self._machine.call(self._exports["before-tool"], _call_record(call), context=context)
        match verdict.tag, verdict.payload:
            case "block", reason:
                return Block(reason)
            case "replace", text:
                try:
                    return ReplaceArguments(msgspec.json.decode(text, type=dict[str, Json]))
                except (msgspec.DecodeError, RecursionError) as error:
                    raise ComponentError(f"before-tool returned arguments that are no JSON object: {error}") from error
            case _:
                return None

    async def after_tool(self, call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
        texts = [part.text for part in result.content if isinstance(part, TextContent)]
        outcome = record(text=clean("\n".join(texts)), is_error=result.is_error)
        changed = await self._machine.call(self._exports["after-tool"], _call_record(call), outcome, context=context)
        if changed is None:
            return None
        others = [part for part in result.content if not isinstance(part, TextContent)]
        new = fields(changed)
        return ToolResult((TextContent(new["text"]), *others), result.details, new["is_error"])

    async def user_message(self, message: UserMessage, context: ConversationContext) -> UserMessage | Block | None:
        verdict: Any = await self._machine.call(self._exports["user-message"], clean(message.text), context=context)
        match verdict.tag, verdict.payload:
            case "block", reason:
                return Block(reason)
            case "replace", text:
                content = () if isinstance(message.content, str) else message.content
                others = [part for part in content if not isinstance(part, TextContent)]
                return replace(message, content=(TextContent(text), *others))
            case _:
                return None


def _call_record(call: ToolCall) -> object:
    return record(id=clean(call.id), name=clean(call.name), arguments_json=json_text(call.arguments))


_MAX_WAITING = 200


class _EventQueue:
    """Events that wait for the component. The oldest are dropped when there are too many.

    Args:
        machine: the component.
        export: gets each event.
        wanted: types of events.
    """

    def __init__(self, machine: Machine, export: str, wanted: frozenset[str]) -> None:
        self._machine = machine
        self._export = export
        self._wanted = wanted
        self._waiting: deque[tuple[Event, ConversationContext]] = deque(maxlen=_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._failure: ComponentError | None = None

    def add(self, event: Event, context: ConversationContext) -> None:
        """Take an event, if it is wanted; the handler of the extension.

        Raises:
            ComponentError: the component failed at an earlier one; kaa reports it and does not call this again.
        """
        if self._failure is not None:
            raise self._failure
        if event.__struct_config__.tag not in self._wanted:
            return
        self._waiting.append((event, context))
        if self._task is None:
            self._task = asyncio.create_task(self._pass_on())

    def close(self) -> None:
        """Drop what waits."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _pass_on(self) -> None:
        try:
            while self._waiting:
                event, context = self._waiting.popleft()
                text = clean(msgspec.json.encode(event).decode())
                await self._machine.call(self._export, text, context=context)
        except ComponentError as error:
            self._failure = error
            self._waiting.clear()
        finally:
            self._task = None
