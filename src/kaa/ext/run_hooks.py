"""The hooks that step into runs: before requests, around tool calls, before the end, and at the user's messages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from kaa.core.hooks import (
    AfterTool,
    BeforeEnd,
    BeforeRequest,
    BeforeTool,
    Block,
    Continue,
    GiveUp,
    MissingTool,
    Refuse,
    ReplaceArguments,
    ReplaceMessages,
    RunAgain,
    UseThinking,
)
from kaa.core.messages import AssistantMessage, TextContent, ToolCall, UserMessage
from kaa.core.provider import Request
from kaa.core.tool import Permit, ToolResult, text_result
from kaa.ext.calling import Report, call, first_verdict, named, parsed, returned
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionFailedError, MessageBlockedError
from kaa.ext.hooks import AfterToolHook, BeforeRequestHook, BeforeToolHook
from kaa.ext.scope import Scope

_END_VERDICTS: Final[tuple[type[Continue | GiveUp], ...]] = (Continue, GiveUp)


class ExtensionHooks:
    """The hooks of one conversation's extensions, as the loop uses them (`kaa.core.hooks.Hooks`).

    Args:
        scopes: gives the extensions as they are at the moment.
        context: of the conversation.
        report: gets failures that are not raised.
    """

    def __init__(self, scopes: Callable[[], Iterable[Scope]], context: ConversationContext, report: Report) -> None:
        self._scopes = scopes
        self._context = context
        self._report = report

    @property
    def before_request(self) -> Sequence[BeforeRequest]:
        """See `kaa.core.hooks.Hooks`."""
        return [self._before_request(scope, hook) for scope in self._scopes() for hook in scope.before_requests]

    @property
    def before(self) -> Sequence[BeforeTool]:
        """See `kaa.core.hooks.Hooks`."""
        return [self._before_tool(scope, hook) for scope in self._scopes() for hook in scope.before_tools]

    @property
    def after(self) -> Sequence[AfterTool]:
        """See `kaa.core.hooks.Hooks`."""
        return [self._after_tool(scope, hook) for scope in self._scopes() for hook in scope.after_tools]

    @property
    def missing_tool(self) -> Sequence[MissingTool]:
        """See `kaa.core.hooks.Hooks`; one hook asks those of all extensions."""
        return [self._explain] if any(scope.missing_tools for scope in self._scopes()) else []

    @property
    def before_end(self) -> Sequence[BeforeEnd]:
        """See `kaa.core.hooks.Hooks`; one hook asks those of all extensions."""
        return [self._demand] if any(scope.before_ends for scope in self._scopes()) else []

    async def user_message(self, message: UserMessage) -> UserMessage:
        """The message after every hook saw it.

        Raises:
            MessageBlockedError: a hook keeps it from the model.
            ExtensionFailedError: a hook failed, so its check or change is missing.
        """
        what = "on_user_message hook"
        for scope in self._scopes():
            for hook in tuple(scope.message_hooks):
                match await call(scope, what, hook, message, context=self._context):
                    case UserMessage() as changed:
                        message = _with_marks(message, parsed(scope, what, changed))
                    case Block() as block:
                        raise MessageBlockedError(named(scope, parsed(scope, what, block).reason))
                    case None:
                        pass
                    case other:
                        raise returned(scope, what, other, "UserMessage, Block or None")
        return message

    def _before_request(self, scope: Scope, hook: BeforeRequestHook) -> BeforeRequest:
        async def before(request: Request) -> ReplaceMessages | UseThinking | GiveUp | None:
            what = "before_request hook"
            change = await call(scope, what, hook, request, context=self._context)
            if isinstance(change, GiveUp):
                return _given_up(scope, parsed(scope, what, change))
            if isinstance(change, ReplaceMessages | UseThinking | None):
                return parsed(scope, what, change)
            raise returned(scope, what, change, "ReplaceMessages with messages, UseThinking, GiveUp or None")

        return before

    def _before_tool(self, scope: Scope, hook: BeforeToolHook) -> BeforeTool:
        what = "before_tool hook"

        async def before(tool_call: ToolCall) -> Block | ReplaceArguments | Permit | None:
            try:
                verdict = await call(scope, what, hook, tool_call, context=self._context)
                if isinstance(verdict, Block):
                    block = parsed(scope, what, verdict)
                    return msgspec.structs.replace(block, reason=named(scope, block.reason))
                if isinstance(verdict, ReplaceArguments):
                    return msgspec.structs.replace(
                        parsed(scope, what, verdict), source=scope.author and scope.extension.name
                    )
                if isinstance(verdict, Permit | None):
                    return parsed(scope, what, verdict)
                raise returned(scope, what, verdict, "Block, ReplaceArguments, a Permit or None")
            except ExtensionFailedError as failure:
                self._report(failure)
                return Block(f"{tool_call.name} was not run: {failure}. Tell the user.")

        return before

    def _after_tool(self, scope: Scope, hook: AfterToolHook) -> AfterTool:
        what = "after_tool hook"

        async def after(tool_call: ToolCall, result: ToolResult) -> ToolResult | RunAgain | Refuse | None:
            try:
                verdict = await call(scope, what, hook, tool_call, result, context=self._context)
                if isinstance(verdict, Refuse):
                    refusal = parsed(scope, what, verdict)
                    return msgspec.structs.replace(refusal, reason=named(scope, refusal.reason))
                if isinstance(verdict, ToolResult | RunAgain | None):
                    return parsed(scope, what, verdict)
                raise returned(scope, what, verdict, "ToolResult, RunAgain, Refuse or None")
            except ExtensionFailedError as failure:
                self._report(failure)
                text = f"{tool_call.name} was run, but its result cannot be shown: {failure}. Tell the user."
                return text_result(text, is_error=True)

        return after

    async def _explain(self, name: str) -> str | None:
        """What the first hook that knows a missing tool says of it."""
        hooks = ((scope, hook) for scope in self._scopes() for hook in tuple(scope.missing_tools))
        found = await first_verdict(
            hooks, "missing_tool hook", (str,), name, context=self._context, report=self._report
        )
        return None if found is None else named(*found)

    async def _demand(self, reply: AssistantMessage) -> Continue | GiveUp | None:
        """What the first hook wants that does not let the run end."""
        hooks = ((scope, hook) for scope in self._scopes() for hook in tuple(scope.before_ends))
        found = await first_verdict(
            hooks, "before_end hook", _END_VERDICTS, reply, context=self._context, report=self._report
        )
        if found is None:
            return None
        scope, demand = found
        if isinstance(demand, GiveUp):
            return _given_up(scope, demand)
        return msgspec.structs.replace(demand, source=f"extension {scope.extension}")


def _given_up(scope: Scope, demand: GiveUp) -> GiveUp:
    return msgspec.structs.replace(demand, reason=named(scope, demand.reason))


def _with_marks(before: UserMessage, after: UserMessage) -> UserMessage:
    """The changed message, in which what a hook added behind the blocks of the message is marked as added."""
    content = (TextContent(before.content),) if isinstance(before.content, str) else before.content
    if isinstance(after.content, str) or after.content[: len(content)] != content:
        return after  # it says something else, instead
    added = (msgspec.structs.replace(block, added=True) for block in after.content[len(content) :])
    return msgspec.structs.replace(after, content=(*content, *added))
