"""What a process adds to the user's messages: context for one run, and other words."""

import msgspec

from kaa.core.events import AgentEnd, Event
from kaa.core.hooks import Block, ReplaceMessages
from kaa.core.messages import Message, TextContent, UserMessage
from kaa.core.provider import Request
from kaa.ext.context import ConversationContext
from kaa.ext.process import wire
from kaa.ext.process.offers import InputTransformerOffer, MessageHookOffer
from kaa.ext.process.supervisor import Supervisor


class _Injection(msgspec.Struct, frozen=True):
    """The answer to `messageHook/onMessage`."""

    injection: str = ""


class _Transformed(msgspec.Struct, frozen=True):
    """The answer to `inputTransformer/transform`."""

    output: str = ""
    handled: bool = False


class Injections:
    """The message hooks and input transformers of one process, as hooks of kaa.

    Args:
        supervisor: has the process.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._texts: dict[tuple[str, int], str] = {}  # for messages of runs, by conversation and time of the message

    async def on_user_message(self, message: UserMessage, context: ConversationContext) -> UserMessage | Block | None:
        """Let the process change a message, and ask it for context."""
        offers, changed = self._supervisor.offers, message
        if offers.has(InputTransformerOffer):
            answer = await self._supervisor.call("inputTransformer/transform", {"input": message.text}, context)
            transformed = wire.parse(answer, _Transformed)
            if transformed.handled:
                return Block(transformed.output or "the extension has handled the message")
            if transformed.output != message.text:
                changed = _with_text(message, transformed.output)
        if offers.has(MessageHookOffer):
            answer = await self._supervisor.call("messageHook/onMessage", {"message": changed.text}, context)
            if text := wire.parse(answer, _Injection).injection:
                self._texts[context.conversation_id, message.timestamp] = text
        return None if changed is message else changed

    async def before_request(self, request: Request, context: ConversationContext) -> ReplaceMessages | None:
        """Add the context to the messages that it is for. The conversation itself does not change."""
        texts = {time: text for (id_, time), text in self._texts.items() if id_ == context.conversation_id}
        if not texts:
            return None
        return ReplaceMessages(tuple(_added(message, texts) for message in request.messages))

    def observe(self, event: Event, context: ConversationContext) -> None:
        """Forget the context at the end of the run."""
        if isinstance(event, AgentEnd) and event.agent is None:
            self._texts = {key: text for key, text in self._texts.items() if key[0] != context.conversation_id}


def _added(message: Message, texts: dict[int, str]) -> Message:
    if not isinstance(message, UserMessage) or not (text := texts.get(message.timestamp)):
        return message
    content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
    return msgspec.structs.replace(message, content=(*content, TextContent(text)))


def _with_text(message: UserMessage, text: str) -> UserMessage:
    blocks = () if isinstance(message.content, str) else message.content
    rest = tuple(block for block in blocks if not isinstance(block, TextContent))
    return msgspec.structs.replace(message, content=(TextContent(text), *rest))
