"""Where lines are written once, nothing is final that may still change, and words say what marks say elsewhere."""

from kaa.core.messages import ToolCall
from kaa.tui.width import plain
from tests.frontends.interactive.transcript.conversations import Session, begins, ends, prints, reply, result, streams

CALL = ToolCall("1", "bash", {"command": "make"})


def settled(session: Session) -> str:
    blocks = session.document.blocks
    return "\n".join(plain(line) for block in blocks for line in block.render(60)[: block.settled]).strip("\n")


def test_the_title_of_a_call_is_final_when_it_runs() -> None:
    session = Session(linear=True).show(*streams(reply(CALL, stop="toolUse"))[:-1])
    assert settled(session) == ""

    session.show(begins(CALL), prints(CALL, "cc a.c\n"))
    assert settled(session) == "• $ make"

    session.show(*ends(CALL, result(CALL, "cc a.c\n\nCommand exited with code 2", error=True, details={}), 2000))
    assert settled(session) == "• $ make\n  cc a.c\n  Command exited with code 2\n  failed · 2.0 s"


def test_what_is_final_begins_with_what_was_final_before() -> None:
    session = Session(linear=True).show(begins(CALL))
    before = settled(session)

    session.show(*ends(CALL, result(CALL, "")))

    assert settled(session).startswith(before)
