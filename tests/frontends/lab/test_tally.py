"""What a run used is counted from its events, whatever else is among them."""

from pathlib import Path

import msgspec
import pytest

from kaa.frontends.lab.attempt import Tally, tally_of

USAGE = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 1, "cost": {"total": 0.5}}


def reply(usage: object = USAGE, **more: object) -> dict[str, object]:
    message = {"role": "assistant", "provider": "p", "model": "m", "stopReason": "stop", "usage": usage}
    return {"type": "message_end", "message": {**message, **more}}


def counted(*events: dict[str, object]) -> Tally:
    tally = Tally()
    for event in events:
        tally.count(event)
    return tally


def test_replies_of_agents_use_tokens_but_are_no_turns() -> None:
    tally = counted(reply(), {**reply(model="small"), "agent": "1"}, {"type": "tool_execution_end"})

    assert (tally.turns, tally.tool_calls, tally.model) == (1, 1, "p/m")
    assert (tally.input, tally.output, tally.cache_read, tally.cache_write, tally.cost) == (20, 10, 200, 2, 1.0)


def test_what_the_server_broke_off_is_no_turn() -> None:
    assert counted(reply(stopReason="error"), reply(stopReason="aborted")).turns == 0


def test_summaries_are_counted() -> None:
    assert counted({"type": "compaction_end", "usage": USAGE}).input == 10


@pytest.mark.parametrize("order", [1, -1])
def test_a_sum_with_an_unknown_price_is_unknown(order: int) -> None:
    events = [reply(), reply({**USAGE, "cost": None})]

    assert counted(*events[::order]).cost is None


def test_the_last_end_of_the_conversation_counts() -> None:
    ends: list[dict[str, object]] = [
        {"type": "agent_end", "reason": "done"},
        {"type": "agent_end", "reason": "error", "error": "no network"},
        {"type": "agent_end", "reason": "aborted", "agent": "1"},
    ]

    tally = counted(*ends)

    assert (tally.reason, tally.error) == ("error", "no network")


def test_notes_of_extensions_are_counted_by_kind() -> None:
    note: dict[str, object] = {"type": "entry_appended", "entry": {"type": "custom", "customType": "check"}}

    assert counted(note, note).notes == {"check": 2}


def test_a_torn_or_foreign_line_is_left_out(tmp_path: Path) -> None:
    lines = [b"hello", b"[]", b'{"type": 1}', b"\xff", msgspec.json.encode(reply()), b'{"type": "message_e']
    (tmp_path / "events").write_bytes(b"\n".join(lines))

    assert tally_of(tmp_path / "events").turns == 1
