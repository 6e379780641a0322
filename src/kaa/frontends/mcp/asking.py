"""Questions of conversations as forms that an MCP client shows (elicitation)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from msgspec.structs import replace

from kaa.ext.asking import NobodyToAskError
from kaa.ext.forms import ChoiceField, ChoicesField, Field, FieldOption, NumberField, TextField, YesNoField
from kaa.ext.questions import (
    AllowAlways,
    AllowInProject,
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
    TrustDecision,
    UnfitAnswerError,
)
from kaa.frontends.rpc.dialogs import labelled_answers, question_text
from kaa.mcp.questions import ElicitAnswer, FormField, FormRequest
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
        if isinstance(asked, OpenUrl):
            raise NobodyToAskError(f"kaa opens no addresses for an MCP client, so it cannot be asked: {asked.title}")
        options = {
            label: answer for label, answer in labelled_answers(asked).items() if not isinstance(answer, _LASTING)
        }
        given = await caller.elicit(_form(asked, options))
        try:
            return question.fit(_answer(asked, options, given))
        except UnfitAnswerError:  # values that the fields of a form do not take
            return Dismissed()


def _form(question: AnyQuestion, options: Mapping[str, Answer]) -> FormRequest:
    agent = "" if question.agent is None else f"{question.agent}: "
    message = agent + question_text(question)
    match question:
        case Form(fields=fields):
            return FormRequest(message, tuple(map(_field, fields)))
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


def _field(field: Field) -> FormField:
    """A field of a form as the client shows it: the reverse of what `kaa.builtin.mcp.questions` makes of a server's."""
    common = FormField(field.name, "string", sanitize(field.title), sanitize(field.description), field.required)
    match field:
        case TextField():
            limits = {"min_length": field.min_length, "max_length": field.max_length}
            return replace(common, default=field.default, format=field.format, **limits)
        case NumberField():
            kind = "integer" if field.whole else "number"
            return replace(common, type=kind, default=field.default, minimum=field.minimum, maximum=field.maximum)
        case YesNoField():
            return replace(common, type="boolean", default=field.default)
        case ChoiceField():
            return replace(common, options=_labelled(field.options), default=field.default)
        case ChoicesField():
            chosen = None if field.default is None else list(field.default)
            limits = {"min_items": field.min_items, "max_items": field.max_items}
            return replace(common, options=_labelled(field.options), many=True, default=chosen, **limits)


def _labelled(options: Sequence[FieldOption]) -> tuple[tuple[str, str], ...]:
    return tuple((option.value, sanitize(option.text)) for option in options)


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
