"""Completions for servers (sampling, up to revision 2025-11-25): a request to the user's model, without tools."""

from base64 import b64encode

from kaa.builtin.images import image_type
from kaa.core.messages import AssistantMessage, ImageContent, Message, TextContent, Usage, UserMessage
from kaa.ext.asking import NobodyToAskError
from kaa.ext.command_context import CommandContext
from kaa.ext.completions import CompletionError
from kaa.ext.context import ConversationContext
from kaa.ext.questions import Choice, Chosen
from kaa.mcp.contents import ImagePart, Part, TextPart
from kaa.mcp.questions import RefusedError, SamplingAnswer, SamplingRequest

# What one answer may cost at most, whatever a server asks for.
_MAX_TOKENS = 8_192
_USUAL_TOKENS = 4_096
_SHOWN_CHARACTERS = 2_000

_NO, _ONCE, _ALWAYS = "No", "Yes, this time", "Yes, for this session"


class _Allowed:
    """The servers that may ask the model as often as they like, in one conversation."""

    def __init__(self) -> None:
        self.servers: set[str] = set()


async def sample(server: str, asked: SamplingRequest, context: ConversationContext | CommandContext) -> SamplingAnswer:
    """Answer with what the conversation's model says.

    Raises:
        RefusedError: the person or a budget does not allow it, the request has something else than texts and images,
            or the model failed.
    """
    messages = tuple(_message(one.role, one.part) for one in asked.messages)
    if not messages or not isinstance(messages[-1], UserMessage):
        raise RefusedError("the last message must be of the user")
    tokens = min(asked.max_tokens or _USUAL_TOKENS, _MAX_TOKENS)
    await _permit(server, asked, tokens, context)
    try:
        said = await context.complete(messages, system=asked.system, max_tokens=tokens)
    except CompletionError as error:
        raise RefusedError(f"the model did not answer: {error}") from error
    return SamplingAnswer(said.text, said.model)


async def _permit(
    server: str, asked: SamplingRequest, tokens: int, context: ConversationContext | CommandContext
) -> None:
    allowed = context.state(_Allowed, _Allowed)
    if server in allowed.servers:
        return
    model = context.models.current.name
    question = Choice(
        f"May MCP server {server} ask your model?",
        (_NO, _ONCE, _ALWAYS),
        f"{model} answers with at most {tokens:,} tokens, at your cost. The server sends:\n{_shown(asked)}",
        only_person=True,
    )
    try:
        answer = await context.asker.ask(question)
    except NobodyToAskError as error:
        raise RefusedError("nobody is there to allow it") from error
    if not isinstance(answer, Chosen) or answer.option == _NO:
        raise RefusedError("the user does not allow it")
    if answer.option == _ALWAYS:
        allowed.servers.add(server)


def _shown(asked: SamplingRequest) -> str:
    """What the model would read, as far as a person reads it."""
    said = [
        f"{one.role}: {one.part.text if isinstance(one.part, TextPart) else '(an image)'}" for one in asked.messages
    ]
    text = "\n".join([*([f"system: {asked.system}"] if asked.system else []), *said])
    more = len(text) - _SHOWN_CHARACTERS
    return f"{text[:_SHOWN_CHARACTERS]}\n[{more:,} more characters]" if more > 0 else text


def _message(role: str, part: Part) -> Message:
    content: TextContent | ImageContent
    match part:
        case TextPart(text=text):
            content = TextContent(text)
        case ImagePart(data=data) if (kind := image_type(data[:64])) is not None:
            content = ImageContent(b64encode(data).decode(), kind)
        case _:
            raise RefusedError("kaa asks models with texts and images only")
    if role == "user":
        return UserMessage((content,), origin="extension")
    if not isinstance(content, TextContent):
        raise RefusedError("a model's own messages have texts only")
    return AssistantMessage((content,), api="", provider="", model="", usage=Usage(), stop_reason="stop")
