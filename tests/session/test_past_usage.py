"""What a session used is read from its file: replies on all branches, what was asked beside them, dear cache misses."""

from pathlib import Path
from typing import Any

from kaa.core.events import CacheMiss
from kaa.session.past_usage import past_misses, past_usage
from tests.support.sessions import JsonObject, entry, opened, user_entry, write_session

USAGE = {"input": 7, "output": 1, "cost": {"total": 0.5}}


def reply(entry_id: str, parent: str, **fields: object) -> JsonObject:
    message = {"role": "assistant", "content": [], "provider": "p", "model": "m", "usage": USAGE, "stopReason": "stop"}
    return entry("message", entry_id, parent, message={**message, "api": "a", "timestamp": 1, **fields})


def used(path: Path) -> list[tuple[str, int, int, str]]:
    with opened(path) as store:
        uses = [use for _, use in past_usage(store, store.tree.nodes)]
    return [(use.purpose, use.usage.input, use.usage.output, f"{use.provider}/{use.model}") for use in uses]


def test_replies_on_all_branches_count_and_damage_costs_only_what_it_hit(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("u", None, "hello"),
        reply("a", "u"),
        reply("b", "u", model="n"),
        reply("c", "b", usage={"input": "many", "output": 3}),
    )

    assert used(path) == [("reply", 7, 1, "p/m"), ("reply", 7, 1, "p/n"), ("reply", 0, 3, "p/m")]


def test_a_request_that_was_refused_is_known_from_a_reply_that_broke_off(tmp_path: Path) -> None:
    nothing, word = {"input": 0, "output": 0}, [{"type": "text", "text": "Well"}]
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("u", None, "hello"),
        reply("a", "u", usage=nothing, stopReason="error"),
        reply("b", "a", usage=nothing, stopReason="error", content=word),
        reply("c", "b", usage=nothing, stopReason="error", timestamp="damaged"),
    )

    with opened(path) as store:
        failed = [use.failed for _, use in past_usage(store, store.tree.nodes)]

    assert failed == [True, False, True]


def test_a_session_of_a_stranger_pays_nothing_into_a_budget(tmp_path: Path) -> None:
    paying = {"input": -1_000_000, "output": -5, "cost": {"total": -1000.0}}
    title = entry("custom", "t", "a", customType="kaa.title", data={"usage": paying, "model": "q/z"})
    path = write_session(tmp_path / "s.jsonl", user_entry("u", None, "hello"), reply("a", "u", usage=paying), title)

    with opened(path) as store:
        uses = [use.usage for _, use in past_usage(store, store.tree.nodes)]

    assert [(usage.input, usage.output, usage.cost.total) for usage in uses] == [(0, 0, 0.0), (0, 0, 0.0)]


def test_summaries_and_titles_count_for_the_model_that_made_them(tmp_path: Path) -> None:
    ours = entry("compaction", "c", "a", summary="s", firstKeptEntryId="a", usage=USAGE, details={"model": "q/x/y"})
    pis = entry("branch_summary", "d", "c", summary="s", fromId="a", usage=USAGE, details=["anything"])
    old = entry("compaction", "e", "d", summary="s", firstKeptEntryId="a", tokensBefore=5)
    title = entry("custom", "t", "e", customType="kaa.title", data={"usage": USAGE, "model": "q/z"})
    path = write_session(tmp_path / "s.jsonl", user_entry("u", None, "hello"), reply("a", "u"), ours, pis, old, title)

    assert used(path)[1:] == [("summary", 7, 1, "q/x/y"), ("summary", 7, 1, "p/m"), ("title", 7, 1, "q/z")]


def test_requests_outside_the_conversation_and_of_tools_count(tmp_path: Path) -> None:
    warmed = entry("usage", "w", "a", kind="cache_warm", provider="q", model="z", usage=USAGE)
    named = entry("usage", "n", "w", kind="title", provider="q", model="z", usage=USAGE)
    damaged = entry("usage", "d", "n", kind=5, usage="much")
    asked = {"role": "toolResult", "toolCallId": "1", "toolName": "ask", "content": [], "usage": USAGE}
    tool = entry("message", "t", "d", message={**asked, "isError": False, "timestamp": 1})
    path = write_session(tmp_path / "s.jsonl", reply("a", ""), warmed, named, damaged, tool)

    assert used(path)[1:] == [("other", 7, 1, "q/z"), ("title", 7, 1, "q/z"), ("tool", 7, 1, "p/m")]


def test_custom_entries_of_others_are_passed_over(tmp_path: Path) -> None:
    foreign: list[Any] = [None, 3, "text", [1], {"usage": 3}, {"usage": USAGE}]
    others = [entry("custom", f"x{n}", "u", customType="other", data=data) for n, data in enumerate(foreign)]
    damaged = [
        entry("custom", f"y{n}", "u", customType=kind, data=data)
        for kind in ("kaa.title", "kaa.cache_miss")
        for n, data in enumerate(foreign[:-1])
    ]
    path = write_session(tmp_path / "s.jsonl", user_entry("u", None, "hello"), *others, *damaged)

    with opened(path) as store:
        misses = list(past_misses(store, store.tree.nodes))

    assert used(path) == []
    assert misses == []


def test_misses_are_read_again(tmp_path: Path) -> None:
    data = {"cause": "expired", "detail": "12 minutes passed", "tokens": 20_000, "cost": None}
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("u", None, "hello"),
        entry("custom", "x", "u", customType="kaa.cache_miss", data=data),
    )

    with opened(path) as store:
        misses = list(past_misses(store, store.tree.nodes))

    assert misses == [CacheMiss("expired", "12 minutes passed", 20_000)]
