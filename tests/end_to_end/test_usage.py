"""What was used is told by the real program: a miss of the cache as it happens, costs later, statistics over all."""

from typing import Any

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter
from tests.support.model_script import Refusal, rate_limited
from tests.support.model_server import MODEL_ID, Answer, ModelServer, Tokens

pytestmark = pytest.mark.usefixtures("full_access")

_RATES = {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}


def _measured(prompt: int, cached: int) -> Answer:
    return Answer(text=("ok",), usage=Tokens(prompt, cached, 100))


def test_a_miss_is_told_priced_and_found_again_later(kaa: Kaa) -> None:
    with ModelServer([_measured(40_000, 30_000), _measured(41_000, 0)]) as server:
        kaa.use(server, "anthropic-messages", cost=_RATES)
        run = kaa.run("--mode", "json", "-p", "one", "two")
        cost = kaa.run("-c", "-p", "/cost")
        misses = kaa.run("-c", "-p", "/cost misses")

    (miss,) = [event for event in run.events if event["type"] == "cache_miss"]
    assert (miss["cause"], miss["tokens"]) == ("unknown", 40_000)
    assert miss["cost"] >= 40_000 * (3.0 - 0.3) / 1e6
    assert "Once the cache missed (dropped by the server): 40,000 tokens" in cost.out
    assert misses.out.splitlines()[1].split()[0] == "40,000"


def test_small_misses_of_each_process_are_found_by_the_next(kaa: Kaa) -> None:
    replies = [_measured(4_000, 3_000), _measured(4_100, 1_000), _measured(4_200, 2_000)]
    with ModelServer(replies) as server:
        kaa.use(server, "anthropic-messages", cost=_RATES)
        for text in ("one", "two", "three"):
            kaa.run("-c", "-p", text)
        misses = kaa.run("-c", "-p", "/cost misses")
        cost = kaa.run("-c", "-p", "/cost")

    assert [line.split()[0] for line in misses.out.splitlines()] == ["tokens", "3,000", "2,100"]
    assert "2 times the cache missed" in cost.out


@pytest.mark.parametrize(("rates", "cost"), [({}, None), ({"cost": dict.fromkeys(_RATES, 0)}, 0)])
def test_programs_take_no_unknown_price_for_nothing(kaa: Kaa, rates: dict[str, Any], cost: float | None) -> None:
    with ModelServer([_measured(1_000, 0)]) as server:
        kaa.use(server, "openai-completions", **rates)
        events = kaa.run("--mode", "json", "-p", "go").events
    (shown,) = _objects(kaa, "--by", "session")

    ended, turn, end = (
        next(event for event in reversed(events) if event["type"] == kind)
        for kind in ("message_end", "turn_end", "agent_end")
    )
    told = [message["usage"]["cost"] for message in (ended["message"], turn["message"], end["messages"][-1])]
    assert [known and known["total"] for known in told] == [cost] * 3
    assert shown["cost"] == cost


def test_a_failure_tells_programs_its_kind(kaa: Kaa) -> None:
    with ModelServer([rate_limited(), Refusal(401)]) as server:
        kaa.use(server, "openai-responses")
        done = kaa.run("--mode", "json", "-p", "go")

    told = {event["type"]: event for event in done.events}
    assert told["auto_retry_start"]["errorType"] == "RateLimitError"
    assert told["message_update"]["assistantMessageEvent"]["errorType"] == "AuthError"


def test_statistics_are_those_of_all_sessions(kaa: Kaa) -> None:
    with ModelServer([_measured(1_000, 0), _measured(2_000, 0)]) as server:
        kaa.use(server, "openai-responses", cost=_RATES)
        kaa.run("-p", "one")
        kaa.run("-p", "two")
    table, rows = kaa.run("stats"), _objects(kaa, "--by", "session")

    assert table.code == 0
    assert [line.split()[1:3] for line in table.out.splitlines() if MODEL_ID in line] == [["2", "3,000"]]
    assert sorted(row["title"] for row in rows) == ["one", "two"]
    assert all(row["cost"] > 0 for row in rows)


def test_names_are_events_and_stay(kaa: Kaa) -> None:
    with ModelServer([_measured(1_000, 0)]) as server:
        kaa.use(server, "openai-responses")
        run = kaa.run("--mode", "json", "-p", "one", "/name first try")
        later = kaa.run("-c", "-p", "/name")

    assert [event["name"] for event in run.events if event["type"] == "session_info_changed"] == ["first try"]
    assert later.out == "first try\n"


def test_a_new_name_is_seen_at_once_at_the_terminal(seat: Seat) -> None:
    with seat.open(script=[Answer(text=("ok",))]) as program:
        enter(program, "one")
        program.wait_for("ok")
        enter(program, "/name lunch break")

        program.wait_for(lambda screen: "named: lunch break" in screen.text() and "• lunch break" in screen.text())


def _objects(kaa: Kaa, *arguments: str) -> list[dict[str, Any]]:
    return kaa.run("stats", *arguments, "--json").events
