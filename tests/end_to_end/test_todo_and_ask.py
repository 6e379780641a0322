"""The tools `write_todos` and `ask_question`: a list of steps that is shown, and questions of the model."""

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("full_access")

_STEPS = call("write_todos", items=["[x] read it", "[>]  write   the test", "[ ] run it"])
_QUESTION = call("ask_question", question="Which one?", options=["red", "blue", "red"])


def test_the_list_is_shown_until_all_is_done_and_when_the_session_is_resumed(seat: Seat) -> None:
    done = call("write_todos", items=["[x] read it", "[X] write the test", "[x] run it"])
    with seat.open("--tools", "+write_todos", script=[_STEPS, say("Begun.")]) as terminal:
        enter(terminal, "go")
        terminal.wait_for("Begun.")
        terminal.wait_for("[>] write the test")
        shown = terminal.screen.text().rpartition("Begun.")[2]
        assert "[ ] run it" in shown
        assert ("write_todos", "1 of 3 done.") not in seat.heard()

    with seat.open("--tools", "+write_todos", "-c", script=[done, say("All done.")]) as terminal:
        terminal.wait_for("[>] write the test")
        enter(terminal, "/todos")
        enter(terminal, "go on")
        terminal.wait_for("All done.")
        terminal.wait_for(lambda screen: "[x] run it" not in screen.text().rpartition("All done.")[2])


def test_the_list_goes_into_summaries(seat: Seat) -> None:
    seat.settings(compaction={"keepRecentTokens": 1})
    script = [say("Hello."), _STEPS, say("Begun."), say("The summary."), say("Gone on.")]
    with seat.open("--tools", "+write_todos", script=script) as terminal:
        enter(terminal, "hi")
        terminal.wait_for("Hello.")
        enter(terminal, "go")
        terminal.wait_for("Begun.")
        terminal.wait_for(is_idle)
        enter(terminal, "/compact")
        terminal.wait_for("compacted")
        enter(terminal, "on")
        terminal.wait_for("Gone on.")

    assert any("[>] write the test" in text for who, text in seat.heard() if who == "user")


def test_the_list_goes_with_its_branch(seat: Seat) -> None:
    with seat.open("--tools", "+write_todos", script=[say("Hello."), _STEPS, say("Begun.")]) as terminal:
        enter(terminal, "hi")
        terminal.wait_for("Hello.")
        enter(terminal, "go")
        terminal.wait_for("Begun.")
        terminal.wait_for("\n[>] write the test")
        terminal.wait_for(is_idle)
        enter(terminal, "/undo --conversation")
        terminal.wait_for(lambda screen: "\n[>] write the test" not in screen.text())


def test_what_is_no_list_is_refused(kaa: Kaa) -> None:
    items = ("write", "[x]", "[?] a")
    with ModelServer([*(call("write_todos", items=["[ ] a", item]) for item in items), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("--tools", "+write_todos", "-p", "go")
        shown = kaa.run("--tools", "+write_todos", "-c", "-p", "/todos").out

    results = [text for who, text in conversation(server.requests[-1]) if who == "tool"]
    assert [item for item, result in zip(items, results, strict=True) if "is no item" not in result] == []
    assert "There is no list" in shown


def test_neither_tool_is_there_by_default(kaa: Kaa) -> None:
    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("-p", "hi")

    assert not {"write_todos", "ask_question"} & {tool["function"]["name"] for tool in server.requests[0].json["tools"]}


def test_the_user_chooses_writes_something_else_or_does_not_answer(seat: Seat) -> None:
    script = [_QUESTION, say("First."), _QUESTION, say("Second."), _QUESTION, say("Third.")]
    with seat.open("--tools", "+ask_question", script=script) as terminal:
        for keys, reply in ((["enter"], "First."), (["down", "down", "enter"], "Second."), (["escape"], "Third.")):
            enter(terminal, "go")
            terminal.wait_for("Something else")
            terminal.press(*keys)
            if reply == "Second.":
                terminal.wait_for("Enter sends the text")
                enter(terminal, "green")
            terminal.wait_for(reply)

    answers = [text for who, text in seat.heard() if who == "tool"]
    assert answers[:2] == ["The user chose: red", "The user says: green"]
    assert "did not answer" in answers[2]


def test_where_nobody_can_be_asked_the_model_goes_on(kaa: Kaa) -> None:
    with ModelServer([_QUESTION, say("Red, I take it.")]) as server:
        kaa.use(server, "openai-completions")
        finished = kaa.run("--tools", "+ask_question", "-p", "go")

    assert finished.code == 0
    assert "Nobody can be asked" in conversation(server.requests[-1])[-1][1]
