"""How rpc mode asks about calls of MCP servers, for clients that show nothing but titles and options."""

import pytest
from msgspec import structs

from kaa.ext.escalations import Escalation
from kaa.ext.questions import Abort, AllowByAuto, AllowForSession, AllowOnce, Approval, Deny, PutBack, UnfitAnswerError
from kaa.ext.tools import ToolServer
from kaa.frontends.rpc.dialogs import labelled_answers, question_text

_WEB = ToolServer("web", "mcp.example.com", "mcp__web__*")
_QUESTION = Approval(
    "mcp__web__search", "1", "mcp__web__search", "outside", {"q": "kaa"}, suggestion="mcp__web__search", server=_WEB
)


def test_the_server_and_its_host_are_in_the_title() -> None:
    assert question_text(_QUESTION).splitlines()[0] == "Allow mcp__web__search of MCP server web at mcp.example.com?"


def test_all_tools_of_the_server_can_be_allowed_for_the_session() -> None:
    answers = labelled_answers(_QUESTION, lasting=True)

    assert answers["Allow for the session: mcp__web__search"] == AllowForSession("mcp__web__search")
    assert answers["Allow for the session: mcp__web__*"] == AllowForSession("mcp__web__*")


def test_in_the_mode_step_a_call_is_run_or_skipped_or_the_run_stops() -> None:
    question = Approval("read a", "1", "read", "read", {"path": "a"}, stepping=True)

    assert question_text(question).splitlines()[0] == "Step: run read?"
    assert labelled_answers(question, lasting=False) == {"Run": AllowOnce(), "Skip": Deny(), "Stop the run": Abort()}
    assert AllowByAuto() in labelled_answers(structs.replace(question, auto=True), lasting=False).values()


def test_no_label_says_once_of_what_lasts_for_the_session() -> None:
    opens = (Escalation("whole network"),)
    question = Approval("curl x", "1", "bash", "command", {"command": "curl x"}, escalations=opens, lasting=True)

    answers = labelled_answers(question, lasting=False)
    step = labelled_answers(structs.replace(question, stepping=True), lasting=False)

    assert answers == {"Allow for this session": AllowForSession(), "Deny": Deny(), "Deny and stop": Abort()}
    assert list(step) == ["Run, with this permission for the session", "Skip", "Stop the run"]


def test_files_that_kaa_writes_are_no_call_to_allow() -> None:
    question = Approval("write a", "1", "bash", "write", {"a": "+1 x"}, escalations=(Escalation("file", "a"),))

    assert question_text(question).splitlines()[0] == "kaa moved this away: put it back?"
    assert labelled_answers(question, lasting=False)["I made this: put it back"] == PutBack()


def test_only_files_that_were_moved_away_can_be_put_back() -> None:
    question = Approval("make", "1", "bash", "command", {"command": "make"})

    assert PutBack() not in labelled_answers(question, lasting=False).values()
    with pytest.raises(UnfitAnswerError, match="putBack"):
        question.fit(PutBack())
