"""Questions of conversations as forms that an MCP client shows (elicitation)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar, cast

from kaa.ext.asking import NobodyToAskError
from kaa.ext.questions import (
    AllowAlways,
    AllowInProject,
    Answer,
    AnyQuestion,
    Confirmation,
    Confirmed,
    Dismissed,
    Editing,
    Entered,
    Question,
    TextInput,
    TrustDecision,
)
from kaa.frontends.rpc.dialogs import labelled_answers, question_text
from kaa.mcp.questions import FormField, FormRequest
from kaa.mcp.serving import Caller
from kaa.tui.sanitize import sanitize

AnswerT = TypeVar("AnswerT")

_FIELD = "answer"
# Nobody can see whether a person or a model answers for the client: it decides about nothing that outlasts the session.
_LASTING = (AllowAlways, AllowInProject, TrustDecision)


class ElicitingAsker:
    """Asks whoever called the tool that a conversation works for (`kaa.ext.asking.Asker`)."""

    def __init__(self) -> None:
        self._callers: dict[str | None, Caller] = {}

    @contextmanager
    def answering(self, conversation: str, caller: Caller) -> Iterator[None]:
        """Within this, questions of a conversation go to `caller`."""
        self._callers[conversation] = caller
        try:
            yield
        finally:
            del self._callers[conversation]

    @property
    def can_ask(self) -> bool:
        """Whether the client shows forms."""
        return any(caller.forms for caller in self._callers.values())

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """Show a form; see `Asker`."""
        caller = self._callers.get(question.conversation)
        if caller is None or not caller.forms:
            raise NobodyToAskError(f"The MCP client shows no forms, so it cannot be asked: {question.title}")
        asked = cast("AnyQuestion", question)  # there are no other subclasses
        options = {
            label: answer for label, answer in labelled_answers(asked).items() if not isinstance(answer, _LASTING)
        }
        given = await caller.elicit(_form(asked, options))
        return question.fit(
            _answer(asked, options, given.values.get(_FIELD)) if given.action == "accept" else Dismissed()
        )


def _form(question: AnyQuestion, options: Mapping[str, Answer]) -> FormRequest:
    agent = "" if question.agent is None else f"{question.agent}: "
    message = agent + question_text(question)
    match question:
        case Confirmation(details=details):
            message = f"{message}\n{sanitize(details)}".rstrip()
            field = FormField(_FIELD, "boolean", title="Yes", required=True)
        case TextInput(placeholder=placeholder):
            field = FormField(_FIELD, "string", title="Answer", description=sanitize(placeholder), required=True)
        case Editing(text=text):
            field = FormField(_FIELD, "string", title="Text", default=text, required=True)
        case _:
            labels = tuple((label, label) for label in options)
            field = FormField(_FIELD, "string", title="Answer", options=labels, required=True)
    return FormRequest(message, (field,))


def _answer(question: AnyQuestion, options: Mapping[str, Answer], value: object) -> Answer:
    """The answer that a value means. One that was not offered counts as none."""
    match question, value:
        case Confirmation(), bool():
            return Confirmed(value)
        case ((TextInput() | Editing()), str()):
            return Entered(value)
        case _, str() if value in options:
            return options[value]
        case _:
            return Dismissed()
