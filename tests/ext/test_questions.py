"""Questions and answers travel as JSON, and an answer fits its question."""

import msgspec
import pytest

from kaa.core.forms import ChoiceField, FieldOption, TextField
from kaa.ext.asking import NOBODY, NobodyToAskError, confirm
from kaa.ext.escalations import OUTSIDE
from kaa.ext.questions import (
    AllowAlways,
    AllowOnce,
    Answer,
    AnyQuestion,
    Approval,
    Choice,
    Chosen,
    Confirmation,
    Confirmed,
    Declined,
    Dismissed,
    Editing,
    Entered,
    Filled,
    Form,
    JudgedPart,
    OpenUrl,
    TextInput,
    Trust,
    TrustDecision,
    UnfitAnswerError,
)
from tests.support.agents import run
from tests.support.person import Person, yes_or_no
from tests.support.tables import each

QUESTIONS: list[AnyQuestion] = [
    Approval("ls", "1", "bash", "command", {"command": "ls"}, (JudgedPart("ls", None),), escalations=(OUTSIDE,)),
    Confirmation("Go on?", "with more"),
    Choice("Which?", ("a", "b")),
    TextInput("Name?", "anything"),
    Editing("Text?", "one\ntwo"),
    Form("Who?", (TextField("name", required=True), ChoiceField("sex", options=(FieldOption("x"),), default="x"))),
    OpenUrl("Open?", "https://example.com/"),
    Trust("Trust?", "/project", ("settings",), was_trusted=True, diff="+x"),
]
ANSWERS: list[Answer] = [
    AllowOnce(),
    Confirmed(yes=True),
    Chosen("a"),
    Entered("x"),
    Entered("x"),
    Filled({"name": "Ann"}),
    Declined(),
    TrustDecision("no"),
]


@each("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_a_question_survives_json(question: AnyQuestion) -> None:
    assert msgspec.json.decode(msgspec.json.encode(question), type=AnyQuestion) == question


@each("answer", [*ANSWERS, Dismissed(), AllowAlways("bash: ls")], ids=repr)
def test_an_answer_survives_json(answer: Answer) -> None:
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer


@each(("question", "answer"), list(zip(QUESTIONS, ANSWERS, strict=True)))
def test_each_question_takes_its_answer_and_a_dismissal(question: AnyQuestion, answer: Answer) -> None:
    assert question.fit(answer) == answer
    assert question.fit(Dismissed()) == Dismissed()


def test_an_answer_to_another_question_is_refused_with_those_that_fit() -> None:
    with pytest.raises(UnfitAnswerError, match="invalid answer 'allowOnce': use confirmed, dismissed"):
        Confirmation("Go on?").fit(AllowOnce())


def test_an_option_that_was_not_offered_is_refused() -> None:
    with pytest.raises(UnfitAnswerError, match="invalid option 'c': use a, b"):
        Choice("Which?", ("a", "b")).fit(Chosen("c"))


def test_values_that_do_not_fit_a_form_are_refused() -> None:
    form = Form("Who?", (TextField("name", required=True),))

    with pytest.raises(UnfitAnswerError, match="invalid value: name is required"):
        form.fit(Filled({}))


def test_only_yes_confirms() -> None:
    assert run(confirm(yes_or_no(True), "Go on?"))
    assert not run(confirm(yes_or_no(False), "Go on?"))
    assert not run(confirm(Person(Dismissed()), "Go on?"))


def test_where_nobody_is_there_the_question_is_named() -> None:
    assert not NOBODY.can_ask
    with pytest.raises(NobodyToAskError, match=r"Nobody can be asked here: Go on\?"):
        run(confirm(NOBODY, "Go on?"))
