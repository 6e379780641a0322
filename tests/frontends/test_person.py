"""No default, no timeout and no program says yes to what only a person may permit."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.ext.asking import NobodyToAskError
from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.ext.questions import (
    Abort,
    AllowAlways,
    AllowForSession,
    AllowInProject,
    AllowOnce,
    Answer,
    Approval,
    ApprovalAnswer,
    Choice,
    Confirmation,
    Confirmed,
    Deny,
    Dismissed,
    PutBack,
    Trust,
    UnfitAnswerError,
)
from kaa.ext.tools import ToolServer
from kaa.frontends.interactive.dialogs.approval import ApprovalDialog
from kaa.frontends.interactive.dialogs.frame import QuestionDialog
from kaa.frontends.interactive.dialogs.simple_questions import ConfirmationDialog
from kaa.frontends.interactive.dialogs.trust import TrustDialog
from kaa.frontends.mcp.asking import ElicitingAsker
from kaa.frontends.rpc.dialogs import DialogResponse, Dialogs
from kaa.mcp.questions import ElicitAnswer, FormRequest
from kaa.mcp.served_calls import ToolCaller
from kaa.tui.events import Key
from tests.support.keyboard import keyboard_context

_ESCALATIONS = [
    OUTSIDE,
    Escalation("directory", "/usr/share"),
    Escalation("read", "/usr/share"),
    Escalation("socket", "/run/x.sock"),
    Escalation("port", "5432"),
    Escalation("file", "/project/.envrc"),
    Escalation("network", "pypi.org"),
]
_APPROVALS = st.builds(
    Approval,
    title=st.just("x"),
    call_id=st.just("1"),
    tool=st.just("bash"),
    risk=st.sampled_from(["read", "write", "command", "fetch", "granted", "outside"]),
    arguments=st.just({"command": "x"}),
    escalations=st.lists(st.sampled_from(_ESCALATIONS), max_size=3, unique=True).map(tuple),
    was_run=st.booleans(),
    lasting=st.booleans(),
    suggestion=st.sampled_from([None, "outside bash: x"]),
    auto=st.booleans(),
    stepping=st.booleans(),
    loses_outside=st.booleans(),
    conversation=st.just("c"),
)
_NO = (Deny, Dismissed, Abort)
_LEAVING = Approval("x", "1", "bash", "command", {"command": "x"}, escalations=(OUTSIDE,), conversation="c")


def concerns_machine(question: Approval) -> bool:
    only_hosts = all(one.kind == "network" for one in question.escalations)
    return not only_hosts or question.risk == "outside" or question.loses_outside


class Accepting(ToolCaller):
    """An MCP client that accepts every form.

    Args:
        choose: gives the value, of those that a form offers.
    """

    def __init__(self, choose: Callable[[list[str]], str]) -> None:
        super().__init__(True, None, lambda *_: None)
        self.choose = choose

    async def elicit(self, asked: FormRequest) -> ElicitAnswer:
        """Accept."""
        (field,) = asked.fields
        return ElicitAnswer("accept", {field.name: self.choose([one.value for one in field.options])})  # type: ignore[union-attr]  # approvals offer a choice


def answer_of_mcp(question: Approval, index: int, *, person_answers: bool = False) -> object:
    caller, asker = (
        Accepting(lambda options: options[index % len(options)]),
        ElicitingAsker(person_answers=person_answers),
    )

    async def asked() -> object:
        with asker.answering("c", caller):
            return await asker.ask(question)

    return asyncio.run(asked())


def answer_of_rpc(question: Approval, index: int, *, person_answers: bool = False) -> ApprovalAnswer | Dismissed:
    def accept(asked: Any) -> None:  # any: a line of the protocol
        dialogs.take(DialogResponse(asked["id"], value=asked["options"][index % len(asked["options"])]))

    def send(asked: object) -> None:
        asyncio.get_running_loop().call_soon(accept, asked)

    dialogs = Dialogs(send, person_answers=person_answers)
    asked = dialogs.ask(question)
    return asyncio.run(asked)


@pytest.mark.parametrize("answer_of", [answer_of_rpc, answer_of_mcp])
class TestPrograms:
    @given(_APPROVALS, st.integers(0, 9))
    def test_none_permits_anything_of_the_machine(
        self, answer_of: Callable[..., object], question: Approval, index: int
    ) -> None:
        answer = answer_of(question, index)

        assert isinstance(answer, _NO) or not concerns_machine(question)

    def test_the_reason_says_what_the_user_can_do(self, answer_of: Callable[..., object]) -> None:
        answer = answer_of(_LEAVING, 0)

        assert isinstance(answer, Deny)
        assert "--person-answers" in answer.reason

    def test_none_lets_code_of_others_run(self, answer_of: Callable[..., object]) -> None:
        question = Confirmation("Permit extension x?", only_person=True, conversation="c")

        with pytest.raises(NobodyToAskError, match="--person-answers"):
            answer_of(question, 0)

    def test_none_spends_what_is_the_persons(self, answer_of: Callable[..., object]) -> None:
        question = Choice("May MCP server x ask your model?", ("Yes", "No"), only_person=True, conversation="c")

        with pytest.raises(NobodyToAskError, match="--person-answers"):
            answer_of(question, 0)

    @given(_APPROVALS, st.integers(0, 9))
    def test_none_keeps_a_rule_beyond_the_session(
        self, answer_of: Callable[..., object], question: Approval, index: int
    ) -> None:
        answer = answer_of(question, index)

        assert not isinstance(answer, AllowAlways | AllowInProject)

    @given(_APPROVALS, st.integers(0, 9))
    def test_a_person_behind_one_lets_a_call_leave_once(
        self, answer_of: Callable[..., object], question: Approval, index: int
    ) -> None:
        answer = answer_of(question, index, person_answers=True)

        assert isinstance(answer, (AllowOnce, PutBack, *_NO)) or not question.leaves_sandbox

    def test_a_person_behind_one_can_say_yes(self, answer_of: Callable[..., object]) -> None:
        assert answer_of(_LEAVING, 0, person_answers=True) == AllowOnce()

    def test_hosts_and_servers_at_an_address_are_not_of_the_machine(self, answer_of: Callable[..., object]) -> None:
        server = ToolServer("web", "mcp.example.com", "mcp__web__*")
        remote = Approval("x", "1", "mcp__web__x", "outside", {}, server=server, conversation="c")
        host = Approval(
            "x", "1", "bash", "command", {}, escalations=(Escalation("network", "a.example"),), conversation="c"
        )

        assert (answer_of(remote, 0), answer_of(host, 0)) == (AllowOnce(), AllowOnce())


@pytest.mark.parametrize("answer", [AllowForSession(), AllowAlways("outside bash: x"), AllowInProject()])
def test_no_lasting_answer_of_kaas_own_lets_a_call_leave(answer: Answer) -> None:
    async def scenario() -> ApprovalAnswer | Dismissed:
        dialogs = Dialogs(lambda _: None, person_answers=True)
        asked = dialogs.ask(_LEAVING)
        asking = asyncio.ensure_future(asked)
        await asyncio.sleep(0)
        with pytest.raises(UnfitAnswerError, match="once only"):
            dialogs.take(DialogResponse("question-1", answer=answer))
        dialogs.close()
        return await asking

    assert asyncio.run(scenario()) == Dismissed()


@pytest.mark.parametrize(
    "answer",
    [
        AllowAlways("bash: make *"),
        AllowInProject(),
        AllowForSession("bash: make *\noutside bash: touch x"),
        AllowForSession("host: *"),
    ],
)
def test_no_answer_of_kaas_own_has_a_rule_that_was_not_offered_or_stays_unless_a_person_answers(answer: Answer) -> None:
    question = Approval("x", "1", "bash", "command", {}, suggestion="bash: make *", conversation="c")

    async def answered(*, person_answers: bool) -> object:
        dialogs = Dialogs(lambda _: None, person_answers=person_answers)
        asked = dialogs.ask(question)
        asking = asyncio.ensure_future(asked)
        await asyncio.sleep(0)
        try:
            dialogs.take(DialogResponse("question-1", answer=answer))
        finally:
            dialogs.close()
        return await asking

    assert asyncio.run(answered(person_answers=True)) == answer
    with pytest.raises(UnfitAnswerError, match="--person-answers"):
        asyncio.run(answered(person_answers=False))


@pytest.mark.parametrize("rules", [None, "mcp__web__search", "mcp__web__*"])
def test_a_program_may_allow_what_the_question_suggests_for_the_session(rules: str | None) -> None:
    server = ToolServer("web", "mcp.example.com", "mcp__web__*")
    question = Approval(
        "x", "1", "mcp__web__search", "outside", {}, suggestion="mcp__web__search", server=server, conversation="c"
    )

    async def answered() -> object:
        dialogs = Dialogs(lambda _: None)
        asked = dialogs.ask(question)
        asking = asyncio.ensure_future(asked)
        await asyncio.sleep(0)
        dialogs.take(DialogResponse("question-1", answer=AllowForSession(rules)))
        return await asking

    assert asyncio.run(answered()) == AllowForSession(rules)


@pytest.mark.parametrize("question", [_LEAVING, Trust("x", root="/", uses=("hooks",)), Confirmation("x")])
def test_a_question_that_waits_too_long_is_a_no(question: Any) -> None:  # any: of several kinds
    assert asyncio.run(Dialogs(lambda _: None, seconds=0, person_answers=True).ask(question)) == Dismissed()


class TestEnter:
    """The answer that the terminal proposes."""

    def pressed(self, dialog: QuestionDialog[Any]) -> None:
        dialog.render(100)  # it is looked at before it takes answers
        dialog.offer()
        dialog.render(100)
        for _ in range(2):  # a no asks for a reason
            dialog.key(Key("enter"))

    @given(_APPROVALS)
    def test_lets_nothing_leave_the_sandbox(self, question: Approval) -> None:
        answers: list[object] = []
        self.pressed(ApprovalDialog(keyboard_context(columns=100, rows=60), question, answers.append))

        assert isinstance(answers[0], _NO) or not question.leaves_sandbox

    def test_trusts_and_confirms_nothing(self) -> None:
        answers: list[object] = []
        context = keyboard_context(columns=100, rows=60)
        self.pressed(TrustDialog(context, Trust("x", root="/", uses=("hooks",)), answers.append))
        self.pressed(ConfirmationDialog(context, Confirmation("x"), answers.append))

        assert {type(answer) for answer in answers} <= {Dismissed, Confirmed}
        assert Confirmed(yes=True) not in answers
