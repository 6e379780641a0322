"""Questions of conversations as forms of an MCP client."""

import asyncio
from typing import TypeVar

import pytest

from kaa.core.forms import ChoiceField, ChoicesField, FieldOption, NumberField, TextField, YesNoField
from kaa.core.messages import Json
from kaa.ext.asking import NobodyToAskError
from kaa.ext.questions import Declined, Dismissed, Filled, Form, OpenUrl, Question
from kaa.frontends.mcp.asking import ElicitingAsker
from kaa.mcp.questions import ElicitAnswer, FormRequest
from kaa.mcp.served_calls import ToolCaller, form_json

AnswerT = TypeVar("AnswerT")

_FIELDS = (
    TextField("name", "Name", "Who", required=True, format="email", min_length=3, max_length=40),
    NumberField("count", whole=True, minimum=1, maximum=9, default=2),
    YesNoField("sure", default=True),
    ChoiceField("colour", options=(FieldOption("r", "Red"), FieldOption("b", "Blue"))),
    ChoicesField("parts", options=(FieldOption("x"), FieldOption("y")), min_items=1, max_items=2),
)


class ScriptedCaller(ToolCaller):
    """A client that gives one answer to everything."""

    def __init__(self, answer: ElicitAnswer) -> None:
        super().__init__(True, None, lambda *_: None)
        self.answer = answer
        self.asked: list[FormRequest] = []

    async def elicit(self, asked: FormRequest) -> ElicitAnswer:
        """Answer."""
        self.asked.append(asked)
        return self.answer


def ask(caller: ScriptedCaller, question: Question[AnswerT]) -> AnswerT | Dismissed:
    asker = ElicitingAsker()

    async def asked() -> AnswerT | Dismissed:
        with asker.answering("c", caller):
            return await asker.ask(question)

    return asyncio.run(asked())


def test_a_form_has_the_fields_and_limits_of_the_question() -> None:
    caller = ScriptedCaller(ElicitAnswer("accept", {"name": "a@example.com", "colour": "b", "parts": ["y"]}))

    answer = ask(caller, Form("Say it", fields=_FIELDS, message="why", conversation="c"))

    assert answer == Filled({"name": "a@example.com", "colour": "b", "parts": ["y"]})
    shown = form_json(caller.asked[0])
    assert "why" in str(shown["message"])
    assert shown["requestedSchema"] == {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "title": "Name",
                "description": "Who",
                "format": "email",
                "minLength": 3,
                "maxLength": 40,
            },
            "count": {"type": "integer", "default": 2, "minimum": 1, "maximum": 9},
            "sure": {"type": "boolean", "default": True},
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
            "parts": {
                "type": "array",
                "items": {"type": "string", "enum": ["x", "y"]},
                "minItems": 1,
                "maxItems": 2,
            },
        },
        "required": ["name"],
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (ElicitAnswer("decline"), Declined()),
        (ElicitAnswer("cancel"), Dismissed()),
        (ElicitAnswer("accept", {}), Dismissed()),
        (ElicitAnswer("accept", {"name": 3}), Dismissed()),
        (ElicitAnswer("accept", {"name": "a@example.com", "other": 1}), Dismissed()),
    ],
)
def test_values_that_do_not_fit_are_no_answer(given: ElicitAnswer, expected: object) -> None:
    assert ask(ScriptedCaller(given), Form("Say it", fields=_FIELDS, conversation="c")) == expected


def test_an_address_is_never_opened_for_a_client() -> None:
    yes: dict[str, Json] = {"answer": True}
    caller = ScriptedCaller(ElicitAnswer("accept", yes))

    with pytest.raises(NobodyToAskError, match="opens no addresses"):
        ask(caller, OpenUrl("Log in", url="https://example.com/login", conversation="c"))

    assert caller.asked == []
