"""Compactions in the session's file: what is read back is what the agent was told."""

from hypothesis import given
from hypothesis import strategies as st

from kaa.core.history import repair
from kaa.core.messages import AssistantMessage, Message, TextContent, ToolCall, ToolResultMessage
from kaa.session.as_user_message import compaction_message
from kaa.session.compaction.plan import plan_compaction
from kaa.session.compaction.steps import read_steps
from kaa.session.context import build_context
from kaa.session.entries import BashExecution, BranchSummary, Compaction, Custom, CustomMessage, Entry, MessageEntry
from kaa.session.naming import iso_timestamp, new_entry_id
from kaa.session.store import MemoryStore
from tests.support.agents import say
from tests.support.sessions import reply


def turn(number: int, kind: str, size: int) -> list[Entry]:
    """What happens in a conversation, and how it is kept."""
    call = f"c{number}"
    text = "x" * size
    match kind:
        case "question":
            return [MessageEntry(message=say(f"q{number} {text}"))]
        case "answer":
            return [MessageEntry(message=reply(f"a{number} {text}"))]
        case "tool":
            result = ToolResultMessage(call, "read", (TextContent(text),), is_error=False)
            return [MessageEntry(message=reply(ToolCall(call, "read", {}))), MessageEntry(message=result)]
        case "command":
            command = BashExecution(command=f"make {number}", output=text, cancelled=False, truncated=False)
            return [MessageEntry(message=command)]
        case "note":
            return [CustomMessage(content=f"n{number}", display=False, custom_type="mine")]
        case "branch":
            return [BranchSummary(summary=f"b{number}", from_id="root")]
        case _:
            return [Custom(custom_type="mine", data=number)]


KINDS = ("question", "answer", "tool", "command", "note", "branch", "state")
TURNS = st.tuples(st.sampled_from(KINDS), st.integers(0, 300))
CONDENSE = st.tuples(st.just("condense"), st.integers(0, 300))


def condense(store: MemoryStore, keep: int) -> tuple[Message, ...] | None:
    """Condense as the shell does. Returns what the agent goes on from."""
    previous, steps = read_steps(store, store.tree.path())
    plan = plan_compaction(steps, previous, keep, keep + 500)
    if plan is None:
        return None
    entry_id = new_entry_id(store.tree)
    entry = Compaction(
        id=entry_id,
        timestamp=iso_timestamp(1_795_160_984_342),
        summary=f"summary of {len(plan.dropped)}",
        first_kept_entry_id=plan.first_kept_entry_id or entry_id,
        tokens_before=1,
    )
    store.append(entry)
    return (compaction_message(entry), *(step.message for step in plan.kept if step.message is not None))


@given(st.lists(TURNS | CONDENSE, max_size=40))
def test_what_is_read_back_is_what_the_agent_goes_on_from(deeds: list[tuple[str, int]]) -> None:
    store = MemoryStore("/p")
    for number, (kind, size) in enumerate(deeds):
        if kind != "condense":
            store.append(*turn(number, kind, size))
            continue
        before = build_context(store).messages

        told = condense(store, size)

        after = build_context(store).messages
        if told is None:
            assert after == before
            continue
        assert after == told
        assert before[len(before) - len(after) + 1 :] == after[1:]  # the end of what was told, and nothing from before
        assert len(after) <= len(before)
        first = next(iter(after[1:]), None)
        assert not isinstance(first, ToolResultMessage)
        calls = sum(len(message.tool_calls) for message in after if isinstance(message, AssistantMessage))
        assert calls == sum(isinstance(message, ToolResultMessage) for message in repair(after))


@given(st.lists(TURNS, min_size=1, max_size=20), st.integers(0, 300))
def test_condensing_again_at_once_never_brings_anything_back(deeds: list[tuple[str, int]], keep: int) -> None:
    store = MemoryStore("/p")
    for number, (kind, size) in enumerate(deeds):
        store.append(*turn(number, kind, size))
    first = condense(store, keep)

    again = condense(store, keep)

    assert first is not None or again is None
    assert again is None or first is None or len(again) <= len(first)
