"""Questions of conversations as forms that an MCP client shows (elicitation)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar, cast

from msgspec.structs import replace

from kaa.core.forms import ChoiceField, ChoicesField, Field, FieldOption, TextField, YesNoField
from kaa.ext.asking import NobodyToAskError
from kaa.ext.questions import (
    Answer,
    AnyQuestion,
    Confirmation,
    Confirmed,
    Declined,
    Dismissed,
    Editing,
    Entered,
    Filled,
    Form,
    OpenUrl,
    Question,
    TextInput,
    UnfitAnswerError,
)
from kaa.frontends.person import answer_for_program
from kaa.frontends.rpc.dialogs import labelled_answers, question_text
from kaa.mcp.questions import ElicitAnswer, FormRequest
from kaa.mcp.served_calls import ToolCaller
from kaa.tui.sanitize import sanitize

AnswerT = TypeVar("AnswerT")

_FIELD = "answer"


class ElicitingAsker:
    """Asks whoever called the tool that a conversation works for (`kaa.ext.asking.Asker`).

    Args:
        person_answers: the user says that a person answers the client's forms.
    """

    def __init__(self, *, person_answers: bool = False) -> None:
        self._person_answers = person_answers
        self._callers: dict[str | None, ToolCaller] = {}

    @contextmanager
    def answering(self, conversation: str, caller: ToolCaller) -> Iterator[None]:
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
        if not self._person_answers and (no := answer_for_program(asked)) is not None:
            return question.fit(no)
        if isinstance(asked, OpenUrl):
            raise NobodyToAskError(f"kaa opens no addresses for an MCP client, so it cannot be asked: {asked.title}")
        options = labelled_answers(asked, lasting=False)
        given = await caller.elicit(_form(asked, options))
        try:
            return question.fit(_answer(asked, options, given))
        except UnfitAnswerError:  # values that the fields of a form do not take
            return Dismissed()


def _form(question: AnyQuestion, options: Mapping[str, Answer]) -> FormRequest:
    agent = "" if question.agent is None else f"{question.agent}: "
    message = agent + question_text(question)
    field: Field
    match question:
        case Form(fields=fields):
            return FormRequest(message, tuple(map(_sanitized, fields)))
        case Confirmation(details=details, diff=diff):
            message = "\n".join((message, *map(sanitize, filter(None, (details, diff)))))
            field = YesNoField(_FIELD, "Yes", required=True)
        case TextInput(placeholder=placeholder):
            field = TextField(_FIELD, "Answer", sanitize(placeholder), required=True)
        case Editing(text=text):
            field = TextField(_FIELD, "Text", required=True, default=text)
        case _:
            field = ChoiceField(_FIELD, "Answer", required=True, options=tuple(map(FieldOption, options)))
    return FormRequest(message, (field,))


def _sanitized(field: Field) -> Field:
    texts: dict[str, object] = {"title": sanitize(field.title), "description": sanitize(field.description)}
    if isinstance(field, ChoiceField | ChoicesField):
        texts["options"] = tuple(FieldOption(option.value, sanitize(option.text)) for option in field.options)
    return replace(field, **texts)


def _answer(question: AnyQuestion, options: Mapping[str, Answer], given: ElicitAnswer) -> Answer:
    """The answer that the client's means. One that was not offered counts as none."""
    if isinstance(question, Form) and given.action == "decline":
        return Declined()
    if given.action != "accept":
        return Dismissed()
    value = given.values.get(_FIELD)
    match question, value:
        case Form(), _:
            return Filled(given.values)
        case Confirmation(), bool():
            return Confirmed(value)
        case ((TextInput() | Editing()), str()):
            return Entered(value)
        case _, str() if value in options:
            return options[value]
        case _:
            return Dismissed()
