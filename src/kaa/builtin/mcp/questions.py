"""What a server asks while it works for a conversation: values, an address to open, a completion, the project.

Completions (sampling, up to revision 2025-11-25) are requests to the user's model, without tools.
"""

import re
from base64 import b64encode
from urllib.parse import urlsplit

from kaa.builtin.images import image_type
from kaa.builtin.mcp.host import ServerView
from kaa.core.messages import AssistantMessage, ImageContent, Message, TextContent, Usage, UserMessage
from kaa.ext.asking import NobodyToAskError
from kaa.ext.command_context import CommandContext
from kaa.ext.completions import CompletionError
from kaa.ext.context import ConversationContext
from kaa.ext.questions import Choice, Chosen, Confirmed, Dismissed, Filled, Form, OpenUrl
from kaa.mcp.contents import ImagePart, Part, TextPart
from kaa.mcp.questions import (
    ElicitAnswer,
    Elicitation,
    FormRequest,
    RefusedError,
    SamplingAnswer,
    SamplingRequest,
    ServerQuestions,
    UrlRequest,
)

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Browsers read a backslash as a slash and drop some blanks: the host would not be the one that is shown.
_AMBIGUOUS = re.compile(r"[\\\s]")
_MAX_URL = 8_192
# What one answer may cost at most, whatever a server asks for.
_MAX_TOKENS = 8_192
_USUAL_TOKENS = 4_096
_SHOWN_CHARACTERS = 2_000
_NO, _ONCE, _ALWAYS = "No", "Yes, this time", "Yes, for this session"


class ConversationQuestions(ServerQuestions):
    """Answers a server's questions for one conversation.

    Args:
        occasion: what the server does meanwhile, such as `tool search`.

    Attributes:
        refusals: which questions nobody could answer and why, one sentence each, for the model.
    """

    def __init__(self, view: ServerView, context: ConversationContext | CommandContext, occasion: str) -> None:
        super().__init__(context.workspace.root if view.sees_project else "")
        self._view = view
        self._context = context
        self._occasion = occasion
        self.refusals: list[str] = []

    @property
    def forms(self) -> bool:
        return self._context.asker.can_ask

    @property
    def samples(self) -> bool:
        """Whether its permissions let it ask for completions, and somebody is there to allow that."""
        return self._view.samples and self._context.asker.can_ask

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        try:
            answer = await (self._fill_in(asked) if isinstance(asked, FormRequest) else self._open(asked))
        except NobodyToAskError:
            answer = ElicitAnswer("cancel", reason="nobody can be asked here")
        if answer.reason:
            self.refusals.append(f"{self._view.name} asked the user a question, which kaa cancelled: {answer.reason}.")
        return answer

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        """Ask a model, if the person allows it. Where nobody can, server, model and user learn why."""
        if self.samples:
            return await sample(self._view.name, asked, self._context)
        why, permitted = "nobody is there to allow it", self._view.samples
        setting = "" if permitted else f"`permissions.models` of its entry in {self._view.source} is not true"
        refused = f"MCP server {self._view.name} asked for an answer of the user's model, which kaa refused"
        self.refusals.append(f"{refused}: {setting or why}.")
        self._context.show.notice(self.refusals[-1], "warning")
        raise RefusedError(why if permitted else "the user has not permitted it to ask models")

    async def _fill_in(self, asked: FormRequest) -> ElicitAnswer:
        form = Form(self._title("asks for information"), asked.fields, asked.message)
        match await self._context.asker.ask(form):
            case Filled(values=values):
                return ElicitAnswer("accept", values)
            case Dismissed():
                return ElicitAnswer("cancel")
            case _:
                return ElicitAnswer("decline")

    async def _open(self, asked: UrlRequest) -> ElicitAnswer:
        if problem := _problem_of(asked.url):
            return ElicitAnswer("cancel", reason=problem)
        question = OpenUrl(self._title("asks you to open an address"), asked.url, asked.message)
        match await self._context.asker.ask(question):
            case Confirmed(yes=True):
                return ElicitAnswer("accept")
            case Dismissed():
                return ElicitAnswer("cancel")
            case _:
                return ElicitAnswer("decline")

    def _title(self, what: str) -> str:
        return f"MCP server {self._view.name} {what} ({self._occasion})"


def _problem_of(url: str) -> str:
    """Why an address must not be opened; empty if it may be offered (client/elicitation, "Safe URL Handling")."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "the address is malformed"
    if len(url) > _MAX_URL or _AMBIGUOUS.search(url) or not host:
        return "the address is malformed"
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        return f"the address begins with {parts.scheme[:20]!r}, and only https is opened"
    return ""


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
