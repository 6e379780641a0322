"""The agents of a conversation in the terminal: the tree, the work of one, and that of all in the transcript."""

import re
from pathlib import Path

from tests.end_to_end.seat import Seat, enter, pausing
from tests.support.agent_sessions import write_with_agents
from tests.support.extension_sources import write
from tests.support.model_server import call, say

_LEAD = "---\nname: lead\ndescription: leads\ntools: agent, bash\n---\nLead.\n"
_SEARCH = (
    call("agent", agent="lead", task="Lead the search."),
    call("agent", agent="explore", task="Find the door."),
    call("bash", command="echo oak"),
)


def test_the_tree_shows_agents_at_work_and_leads_to_what_they_do(seat: Seat) -> None:
    write(seat.home / "agents", {"lead.md": _LEAD})
    script = [*_SEARCH, pausing("Look", "ing"), say("It is of oak."), say("The lead is done."), say("All done.")]

    with seat.open("--approvals", "auto", script=script) as terminal:
        enter(terminal, "hi")
        seat.model.wait_until_stalled()
        terminal.press("f4")
        terminal.wait_for(re.compile(r"lead-\w{6} working .*agent"))
        terminal.wait_for(re.compile(r"› . +explore-\w{6} working .*bash echo oak"))
        terminal.wait_for("Task: Find the door.")

        terminal.press("enter")
        terminal.wait_for(re.compile(r"explore-\w{6}: Find the door"))
        terminal.wait_for("echo oak")
        terminal.press("q")
        terminal.wait_for("Agents of this conversation")

        terminal.type("s")
        terminal.wait_for("Tell explore-")
        enter(terminal, "Try the wall.")
        terminal.wait_for("gets it after its present calls")
        seat.model.release()
        terminal.wait_for(re.compile(r"explore-\w{6} done "))
        terminal.press("escape")
        terminal.wait_for("All done.")

    assert any("Try the wall." in text for number in range(len(seat.model.requests)) for _, text in seat.heard(number))


def test_the_work_of_one_grows_while_it_is_looked_at(seat: Seat) -> None:
    script = [call("agent", agent="explore", task="Look."), pausing("Look", "ing"), say("All done.")]

    with seat.open("--approvals", "auto", script=script) as terminal:
        enter(terminal, "hi")
        seat.model.wait_until_stalled()
        enter(terminal, "/agents")
        terminal.wait_for("Agents of this conversation")
        terminal.press("enter")
        terminal.wait_for("You work for another agent.")
        assert "Looking" not in terminal.screen.text()
        seat.model.release()
        terminal.wait_for("Looking")


def test_one_is_stopped(seat: Seat) -> None:
    script = [call("agent", agent="explore", task="Look."), pausing("Look", "ing"), say("All done.")]

    with seat.open("--approvals", "auto", script=script) as terminal:
        enter(terminal, "hi")
        seat.model.wait_until_stalled()
        terminal.press("f4")
        terminal.wait_for("Agents of this conversation")
        terminal.type("x")
        terminal.wait_for(re.compile(r"explore-\w{6} aborted"))
        terminal.press("escape")
        terminal.wait_for("All done.")
        seat.model.release()


def test_without_agents_the_key_says_so_and_the_command_lists_those_there_are(seat: Seat) -> None:
    with seat.open() as terminal:
        terminal.press("f4")
        terminal.wait_for("no agent has worked for this conversation yet")
        enter(terminal, "/agents")
        terminal.wait_for("explore: searches")


def test_the_transcript_of_a_session_that_is_looked_at_has_their_work_behind_their_calls(
    seat: Seat, tmp_path: Path
) -> None:
    session = write_with_agents(tmp_path)

    with seat.open("--view", str(session)) as terminal:
        terminal.press("f2")
        terminal.wait_for("It is found.")
        terminal.press("g")
        terminal.wait_for("Find the door.")
        order = [
            "Agent lead-aaaaaa: Lead the search.",
            "The whole task of the lead.",
            "Agent scout-bbbbbb: Look around.",
        ]
        for text in order:
            terminal.press("/")
            enter(terminal, text)
            terminal.wait_for(re.compile(rf"│ .*{text}"))
            terminal.press("g")
