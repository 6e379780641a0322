"""Answers in place of programs that drive kaa what only a person may decide.

Behind rpc and an MCP client kaa cannot see whether a person answers. A client that accepted every question once had kaa
run a command outside the sandbox which destroyed files of the machine. So a program opens nothing of the machine to
calls unless kaa was started with `--person-answers`.
"""

from kaa.ext.asking import NobodyToAskError
from kaa.ext.questions import (
    AllowAlways,
    AllowByAuto,
    AllowForSession,
    AllowInProject,
    Answer,
    AnyQuestion,
    Approval,
    Choice,
    Confirmation,
    Deny,
    Dismissed,
    Trust,
    TrustDecision,
)

_REASON = (
    "a program drives kaa, and only a person may permit this: it would reach beyond the project on this machine. If a"
    " person answers the questions of that program, the user can start kaa with --person-answers"
)
_ONLY_A_PERSON = (
    "a program drives kaa, and only a person may say yes. If a person answers the questions of that program, the"
    " user can start kaa with --person-answers"
)
UNTRUSTED = f"The project's configuration is not trusted: {_ONLY_A_PERSON}, or with --trust"
_BEYOND_THE_CALL = (AllowAlways, AllowByAuto, AllowForSession, AllowInProject)
_BEYOND_THE_SESSION = (AllowAlways, AllowInProject, TrustDecision)


def answer_for_program(question: AnyQuestion) -> Deny | Dismissed | None:
    """Return the answer to what a program may not decide; None if it may.

    Raises:
        NobodyToAskError: a person asked for what only a person may confirm, or nothing goes on without the answer.
    """
    match question:
        case Approval():
            opens = question.leaves_sandbox or question.opens_machine
            return Deny(_REASON) if opens or question.loses_outside else None
        case Confirmation(only_person=True) | Choice(only_person=True):
            raise NobodyToAskError(f"{question.title} Answered no: {_ONLY_A_PERSON}")
        case Trust(status=status):
            if status:
                raise NobodyToAskError(UNTRUSTED)
            return Dismissed()
        case _:
            return None


def outlasts_leaving(question: AnyQuestion, answer: Answer) -> bool:
    """Whether an answer through a program would let more than this one call leave the sandbox."""
    return isinstance(question, Approval) and question.leaves_sandbox and isinstance(answer, _BEYOND_THE_CALL)


def exceeds_offer(question: AnyQuestion, answer: Answer) -> bool:
    """Whether an answer has rules that the question does not suggest: they could permit anything from then on."""
    if not isinstance(question, Approval) or not isinstance(answer, AllowForSession):
        return False
    return answer.rules not in (None, question.suggestion, question.broader_rule)


def outlasts_session(answer: Answer) -> bool:
    """Whether an answer holds for later sessions too, where nobody sees that a program gave it."""
    return isinstance(answer, _BEYOND_THE_SESSION)
