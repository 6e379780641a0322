"""Conversations that become too long, in the program as a person runs it."""

import msgspec
import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import Seat, enter, is_idle, pausing
from tests.support.model_server import Answer, Call, ModelServer, ScriptItem, Tokens, say

pytestmark = pytest.mark.usefixtures("full_access")

WINDOW = 32_000
LONG = Tokens(prompt=30_000)


def long_loop() -> list[ScriptItem]:
    """Two calls, between which the conversation becomes too long."""
    looking = Call("bash", '{"command": "echo found"}')
    return [Answer(calls=(looking,), usage=LONG), say("## Goal\nlook"), Answer(calls=(looking,)), say("It is there.")]


@pytest.fixture
def small(kaa: Kaa) -> Kaa:
    """kaa that keeps next to nothing as it is."""
    kaa.settings(compaction={"keepRecentTokens": 1})
    return kaa


def test_a_tool_loop_goes_on_after_the_conversation_was_condensed(small: Kaa) -> None:
    with ModelServer(long_loop()) as server:
        small.use(server, "anthropic-messages", contextWindow=WINDOW)
        done = small.run("-p", "look for it")

    assert (done.code, done.out) == (0, "It is there.\n")
    assert "compacted the conversation: 30," in done.err
    who, text = conversation(server.requests[2])[0]
    assert who == "user"
    assert "## Goal\nlook" in text
    assert "<message>\nlook for it\n</message>" in text


def test_the_system_prompt_and_the_tools_are_sent_byte_for_byte_as_before(small: Kaa) -> None:
    with ModelServer(long_loop()) as server:
        small.use(server, "openai-completions", contextWindow=WINDOW)
        small.run("-p", "look for it")

    def begins(request: int) -> bytes:
        body = server.requests[request].body
        return body[: body.index(b'"role":"user"')]

    assert begins(0) == begins(2) == begins(3)


def test_programs_are_told_of_it(small: Kaa) -> None:
    with ModelServer(long_loop()) as server:
        small.use(server, "openai-completions", contextWindow=WINDOW)
        done = small.run("--mode", "json", "look for it")

    start, end = (event for event in done.events if event["type"].startswith("compaction"))
    assert start == {"type": "compaction_start", "reason": "threshold"}
    assert (end["type"], end["reason"], end["dropped"]) == ("compaction_end", "threshold", 1)
    assert end["tokensBefore"] > 30_000 > end["tokensAfter"]
    (last,) = [event for event in done.events if event["type"] == "agent_end"]
    assert [message["role"] for message in last["messages"]].count("user") == 1


def test_a_recording_has_the_summaries_too(small: Kaa) -> None:
    with ModelServer(long_loop()) as server:
        small.use(server, "openai-completions", contextWindow=WINDOW)
        recorded = small.run("--record", "run.cassette", "--no-session", "-p", "look for it")

    replayed = small.run("--replay", "run.cassette", "--no-session", "-p", "look for it")

    assert (replayed.code, replayed.out) == (recorded.code, recorded.out) == (0, "It is there.\n"), replayed.err


def test_compact_and_uncompact_work_without_a_terminal(small: Kaa) -> None:
    with ModelServer([say("1"), say("2"), say("## Goal\nnumbers"), say("3"), say("4")]) as server:
        small.use(server, "openai-completions")
        small.run("-p", "one?")
        small.run("-c", "-p", "two?")
        condensed = small.run("-c", "-p", "/compact look at the numbers")
        small.run("-c", "-p", "three?")
        whole = small.run("-c", "-p", "/uncompact")
        small.run("-c", "-p", "four?")

    assert "a summary stands for 2 messages of yours and 1 reply" in condensed.out
    assert "was taken back" in whole.out
    assert [text for who, text in conversation(server.requests[-1]) if who == "user"] == [
        "one?",
        "two?",
        "three?",
        "four?",
    ]


def test_the_session_file_has_entries_as_pi_writes_them(small: Kaa) -> None:
    with ModelServer(long_loop()) as server:
        small.use(server, "openai-completions", contextWindow=WINDOW)
        small.run("-p", "look for it")

    (path,) = small.home.glob("sessions/**/*.jsonl")
    entries = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    (entry,) = [entry for entry in entries if entry["type"] == "compaction"]
    kept = next(entry for entry in entries if entry.get("message", {}).get("role") == "assistant")
    assert set(entry) == {
        *("type", "id", "parentId", "timestamp"),
        *("summary", "firstKeptEntryId", "tokensBefore", "details", "fromHook", "usage"),
    }
    assert entry["firstKeptEntryId"] == kept["id"]
    assert entry["fromHook"] is False
    assert set(entry["details"]) >= {"readFiles", "modifiedFiles"}


def test_what_is_entered_while_it_goes_on_reaches_the_model_afterwards(seat: Seat) -> None:
    seat.settings(compaction={"keepRecentTokens": 1})
    with seat.open(script=[say("One."), say("Two."), pausing("## Goal", "\nnumbers"), say("Three.")]) as program:
        enter(program, "first")
        program.wait_for("One.")
        enter(program, "second")
        program.wait_for("Two.")
        program.wait_for(is_idle)
        enter(program, "/compact")
        seat.model.wait_until_stalled()
        enter(program, "third")
        program.wait_for("steering: third")
        seat.model.release()
        program.wait_for("Three.")

    assert seat.heard()[-1] == ("user", "third")
    assert "## Goal\nnumbers" in seat.heard()[0][1]
