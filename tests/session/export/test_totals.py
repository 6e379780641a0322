"""What the entries of an export come to."""

from kaa.session.export.totals import Totals
from tests.support.rich_session import call, png, reply, result, text, thought, user
from tests.support.sessions import JsonObject, entry


def totals_of(*entries: JsonObject) -> Totals:
    totals = Totals()
    for fields in entries:
        totals.add(fields)
    return totals


def test_messages_and_what_is_in_them_are_counted() -> None:
    totals = totals_of(
        user("a", None, "look", png()),
        reply("b", "a", thought("hm"), text("yes"), call("1", "ls")),
        result("c", "b", "1", "ls", "files", content=[{"type": "image", "data": png(), "mimeType": "image/png"}]),
        entry("model_change", "d", "c", provider="p", modelId="m"),
    )

    assert (totals.messages, totals.tool_results, totals.thinking_blocks, totals.images) == (2, 1, 1, 2)


def test_use_is_added_up_by_model_and_summaries_have_their_own_line() -> None:
    usage = {"input": 7, "output": 3, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}

    totals = totals_of(
        reply("a", None, text("one")),
        reply("b", "a", text("two")),
        reply("c", "b", text("three"), model="other"),
        entry("compaction", "d", "c", summary="short", firstKeptEntryId="a", tokensBefore=9, usage=usage),
        entry("branch_summary", "e", "d", fromId="a", summary="left", usage=usage),
        entry("branch_summary", "f", "e", fromId="a", summary="by an older kaa"),
    )

    assert {model: (used.replies, used.input) for model, used in totals.models.items()} == {
        "anthropic/claude-sonnet": (2, 620),
        "anthropic/other": (1, 310),
    }
    assert (totals.aside.replies, totals.aside.input, totals.aside.cost) == (2, 14, 1.0)


def test_requests_outside_the_conversation_and_of_tools_are_added_up() -> None:
    usage = {"input": 7, "output": 3, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}

    totals = totals_of(
        entry("usage", "a", None, kind="cache_warm", provider="p", model="m", usage=usage),
        result("b", "a", "1", "ask", "an answer", usage=usage),
    )

    assert (totals.models["p/m"].input, totals.aside.input, totals.tool_results) == (7, 7, 1)


def test_what_is_no_count_adds_nothing() -> None:
    for usage in (None, "many", {"input": "7", "cost": "free"}, {"input": 2**63, "output": -(2**63)}, {"input": 1.5}):
        used = totals_of(reply("a", None, text("one"), usage=usage)).models["anthropic/claude-sonnet"]

        assert (used.replies, used.input, used.output, used.cost) == (1, 0, 0, 0.0)
