"""Registers hooks that step into runs."""

from typing import TypeVar

import msgspec

from kaa.core.messages import TextContent, UserMessage
from kaa.ext.context import ConversationContext
from kaa.ext.hooks import (
    AfterToolHook,
    BeforeEndHook,
    BeforeRequestHook,
    BeforeToolHook,
    InputTransformer,
    MissingToolHook,
    UserMessageHook,
)
from kaa.ext.registration.base import Registrar, require_async

AfterToolT = TypeVar("AfterToolT", bound=AfterToolHook)
MissingToolT = TypeVar("MissingToolT", bound=MissingToolHook)
BeforeEndT = TypeVar("BeforeEndT", bound=BeforeEndHook)
BeforeRequestT = TypeVar("BeforeRequestT", bound=BeforeRequestHook)
BeforeToolT = TypeVar("BeforeToolT", bound=BeforeToolHook)
UserMessageT = TypeVar("UserMessageT", bound=UserMessageHook)
InputTransformerT = TypeVar("InputTransformerT", bound=InputTransformer)


class RunHookRegistrations(Registrar):
    """Hooks in a run."""

    def on_user_message(self, hook: UserMessageT) -> UserMessageT:
        """Run for each message of the user, and each text that a command submits, before it is queued or sent.

        The hook gets the `UserMessage`. It returns another `UserMessage`, which the next hook gets, or
        `Block(reason)`: the message is not sent, the user sees the reason, and later hooks do not run. Failure: the
        message is not sent. Slash commands and messages of hooks do not reach it.
        """
        return self._add_hook(self._open_scope().message_hooks.append, hook)

    def transform_input(self, transformer: InputTransformerT) -> InputTransformerT:
        """Change what the user writes before it becomes a message.

        The async function gets a text of the message and returns another text, or None to leave it. Images and the
        origin of the message stay. It runs in the order of the `on_user_message` hooks. Slash commands and texts that
        commands, hooks and extensions send do not reach it. Failure: the message is not sent.
        """
        require_async(transformer)

        async def transform(message: UserMessage, context: ConversationContext) -> UserMessage | None:
            return await _transformed(transformer, message, context) if message.origin == "person" else None

        self._add_hook(self._open_scope().message_hooks.append, transform)
        return transformer

    def before_request(self, hook: BeforeRequestT) -> BeforeRequestT:
        """Run before each request of a run, including retries, after compaction.

        The hook gets the `Request`: model, system prompt, messages, tools. It returns `ReplaceMessages(messages)`: this
        request has these messages, and the next hook gets them; the conversation and the session do not change. Or it
        returns `UseThinking(level)`: this request has another level of `context.models.current.levels`; or
        `GiveUp(reason)`: the request is not sent, and the run ends with the reason. kaa drops results without a call
        and adds a result to calls without one. Messages from the first difference to the request before are not read
        from the provider's cache. Failure: the request is not sent, and the run ends with the error. The hook does not
        see requests for summaries and titles.
        """
        return self._add_hook(self._open_scope().before_requests.append, hook)

    def before_tool(self, hook: BeforeToolT) -> BeforeToolT:
        """Run before each call of an existing tool with readable arguments.

        The hook gets the `ToolCall`. It returns one of

        - `Block(reason)`: the tool does not run, the model gets the reason, later hooks do not run. With `denied=True`
          the run counts as not permitted;
        - `ReplaceArguments(arguments)`: the next hook and the tool get these, and a permit of an earlier hook is void;
        - a `Permit`, such as `WorkspacePermit(workspace)`, for this call.

        kaa's approvals run after all hooks, so they judge what will run. Failure: the tool does not run, and the model
        gets the reason.
        """
        return self._add_hook(self._open_scope().before_tools.append, hook)

    def after_tool(self, hook: AfterToolT) -> AfterToolT:
        """Run after each tool call, before the model gets the result.

        The hook gets the `ToolCall`, with the arguments that the tool got, and the `ToolResult`. It returns one of

        - another `ToolResult`, which the next hook gets;
        - `RunAgain(permit)`: the tool runs again, at most five times in all, and all hooks get the new result; the
          remaining hooks do not get the old one;
        - `Refuse(reason)`: the result becomes an error that ends with the reason, and the run counts as not permitted.
          The next hook gets that result.

        kaa's approvals run before all hooks. The hook does not run for calls that were blocked. Failure: the model gets
        the reason instead of the result.
        """
        return self._add_hook(self._open_scope().after_tools.append, hook)

    def missing_tool(self, hook: MissingToolT) -> MissingToolT:
        """Run when the model calls a tool that does not exist.

        The hook gets the tool's name. It returns what the model can do instead, or None if it does not know the tool;
        later hooks do not run after an answer. Without one, the model gets the names of the tools that it has. Failure:
        counts as None.
        """
        return self._add_hook(self._open_scope().missing_tools.append, hook)

    def before_end(self, hook: BeforeEndT) -> BeforeEndT:
        """Run when a run would end because the model has nothing more to do.

        The hook gets the last `AssistantMessage`. It returns `Continue(reason)`: the model gets the reason as the next
        message, and later hooks do not run. Messages that the user sends meanwhile come first. After ten continuations
        without a message of the user, the run ends as `max_continuations`; `progress=True` counts from there. Or it
        returns `GiveUp(reason, ends_as)`: the run ends as `unfinished`, `unverified` or `loop`, with the reason.
        Failure: counts as None. The hook does not run if the run is aborted, fails, reaches a limit, or needed
        something that was not permitted.
        """
        return self._add_hook(self._open_scope().before_ends.append, hook)


async def _transformed(
    transformer: InputTransformer, message: UserMessage, context: ConversationContext
) -> UserMessage | None:
    """The message with its texts transformed; None if none of them changes."""
    content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
    changed = list(content)
    for place, block in enumerate(content):
        if not isinstance(block, TextContent):
            continue
        text: object = await transformer(block.text, context)
        if not isinstance(text, str | None):
            raise TypeError(f"transform_input returned {text!r}: return a text or None")
        if text is not None:
            changed[place] = TextContent(text)
    return None if tuple(changed) == content else msgspec.structs.replace(message, content=tuple(changed))
