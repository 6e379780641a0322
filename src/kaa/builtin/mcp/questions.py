"""What a server asks while it works for a conversation: values, an address to open, a completion, the project."""

import re
from urllib.parse import urlsplit

from kaa.builtin.mcp.host import ServerView
from kaa.ext.asking import NobodyToAskError
from kaa.ext.command_context import CommandContext
from kaa.ext.context import ConversationContext
from kaa.ext.questions import Confirmed, Dismissed, Filled, Form, OpenUrl
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
            from kaa.builtin.mcp.sampling import sample  # lazy: few servers ask

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
