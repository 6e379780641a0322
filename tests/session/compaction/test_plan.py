"""What a compaction drops and keeps, for conversations of any shape."""

from hypothesis import given
from hypothesis import strategies as st

from kaa.core.history import repair
from kaa.core.messages import AssistantMessage, TextContent, ToolCall, ToolResultMessage, UserMessage
from kaa.core.usage import estimate
from kaa.session.compaction.budget import piece_tokens, share_out
from kaa.session.compaction.plan import CompactionPlan, plan_compaction
from kaa.session.compaction.steps import PathStep
from kaa.session.entries import AnyEntry, MessageEntry, ModelChange
from tests.support.agents import say
from tests.support.sessions import reply

ALL = 10**9


def steps_of(*entries: AnyEntry) -> list[PathStep]:
    """Entries as they are read from a session."""
    steps = []
    for number, entry in enumerate(entries):
        message = entry.message if isinstance(entry, MessageEntry) else None
        assert message is None or isinstance(message, UserMessage | AssistantMessage | ToolResultMessage)
        steps.append(PathStep(str(number), entry, message, estimate(message) if message is not None else 0))
    return steps


def user(text: str) -> MessageEntry:
    return MessageEntry(message=say(text))


def answer(text: str, *calls: str) -> MessageEntry:
    return MessageEntry(message=reply(text, *(ToolCall(call, "read", {}) for call in calls)))


def result(call: str, text: str = "found") -> MessageEntry:
    return MessageEntry(message=ToolResultMessage(call, "read", (TextContent(text),), is_error=False))


CHANGE = ModelChange(provider="p", model_id="m")


@st.composite
def histories(draw: st.DrawFn) -> list[AnyEntry]:
    """Conversations as they happen: results in any order, calls without results, bookkeeping anywhere."""
    entries: list[AnyEntry] = []
    for turn in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            entries.append(CHANGE)
        if draw(st.integers(0, 3)):
            entries.append(user("u" * draw(st.integers(1, 400))))
        calls = [f"{turn}.{number}" for number in range(draw(st.integers(0, 3)))]
        entries.append(answer("a" * draw(st.integers(1, 400)), *calls))
        results: list[AnyEntry] = [
            result(call, "r" * draw(st.integers(0, 400))) for call in calls if draw(st.integers(0, 5))
        ]
        if draw(st.integers(0, 5)) == 0:
            results.append(user("in between"))
        entries += draw(st.permutations(results))
    return entries


@given(histories(), st.integers(0, 500), st.integers(0, 2000))
def test_a_plan_is_valid_whatever_was_said(entries: list[AnyEntry], keep: int, more: int) -> None:
    steps = steps_of(*entries)
    most = keep + more

    plan = plan_compaction(steps, None, keep, most)

    if plan is None:
        return
    assert [*plan.dropped, *plan.kept] == steps
    assert any(step.message is not None for step in plan.dropped)
    kept = [step.message for step in plan.kept if step.message is not None]
    calls = {call.id for message in kept if isinstance(message, AssistantMessage) for call in message.tool_calls}
    assert all(message.tool_call_id in calls for message in kept if isinstance(message, ToolResultMessage))
    dropped = {step.message.tool_call_id for step in plan.dropped if isinstance(step.message, ToolResultMessage)}
    assert not dropped & calls
    taken = sum(step.tokens for step in plan.kept)
    if len(kept) == 1 and isinstance(kept[0], UserMessage):
        return  # what was said last is never given up
    assert taken <= most
    assert taken >= keep or most_that_can_be_kept(steps, most) == taken


def most_that_can_be_kept(steps: list[PathStep], most: int) -> int:
    """The largest end of the conversation that fits and begins with no result whose call is missing."""
    sizes = [0]
    for position in range(len(steps)):
        end = [step.message for step in steps[position:] if step.message is not None]
        calls: set[str] = set()
        sound = True
        for message in end:
            if isinstance(message, AssistantMessage):
                calls |= {call.id for call in message.tool_calls}
            sound = sound and not (isinstance(message, ToolResultMessage) and message.tool_call_id not in calls)
        if sound and steps[position].message is not None:
            sizes.append(sum(step.tokens for step in steps[position:]))
    return max(size for size in sizes if size <= most)


@given(histories(), st.integers(0, 500))
def test_what_is_kept_is_told_as_it_was(entries: list[AnyEntry], keep: int) -> None:
    steps = steps_of(*entries)
    whole = repair(step.message for step in steps if step.message is not None)

    plan = plan_compaction(steps, None, keep, ALL)

    kept = plan.kept if plan is not None else tuple(steps)
    told = repair(step.message for step in kept if step.message is not None)
    assert told == whole[len(whole) - len(told) :]


def planned(steps: list[PathStep], keep: int, most: int = ALL) -> CompactionPlan:
    plan = plan_compaction(steps, None, keep, most)
    assert plan is not None
    return plan


def test_a_conversation_that_is_no_longer_than_what_is_kept_is_left_alone() -> None:
    assert plan_compaction(steps_of(user("one"), answer("1")), None, 1000, ALL) is None
    assert plan_compaction([], None, 0, ALL) is None
    assert plan_compaction(steps_of(CHANGE, CHANGE), None, 0, ALL) is None


def test_the_cut_is_before_the_reply_whose_results_are_kept() -> None:
    steps = steps_of(user("one"), answer("1", "a", "b"), result("b"), result("a"))

    plan = planned(steps, 1)

    assert plan.first_kept_entry_id == "1"
    assert plan.splits_turn


def test_a_turn_that_is_too_large_by_itself_is_given_up() -> None:
    steps = steps_of(user("one"), answer("1", "a"), result("a", "x" * 4000))

    plan = planned(steps, 10, 500)

    assert plan.first_kept_entry_id is None
    assert plan.kinds == {"user": 1, "assistant": 1, "toolResult": 1}


def test_what_the_user_has_just_said_is_never_given_up() -> None:
    paste = user("x" * 4000)

    assert planned(steps_of(user("one"), answer("1"), paste), 10, 500).first_kept_entry_id == "2"
    assert plan_compaction(steps_of(paste), None, 10, 500) is None


def test_bookkeeping_stays_with_what_follows_it() -> None:
    plan = planned(steps_of(user("one"), answer("1"), CHANGE, user("two"), answer("2")), 2)

    assert plan.first_kept_entry_id == "2"
    assert not plan.splits_turn


@given(st.integers(2_000, 2_000_000), st.floats(0, 0.25), st.integers(0, 10**6), st.integers(0, 10**6))
def test_every_window_has_room_for_what_is_kept_a_summary_and_the_next_reply(
    window: int, overhead: float, reserve: int, keep: int
) -> None:
    prompt = int(window * overhead)

    budget = share_out(window, prompt, reserve, keep)

    assert window * 0.75 - 1 <= budget.threshold <= window
    assert prompt + budget.keep <= budget.threshold
    assert budget.keep <= keep
    assert budget.keep <= budget.most
    assert budget.summary + budget.carried < budget.threshold
    assert 0 < piece_tokens(window, budget.summary) < max(window, 1001)


def test_in_a_usual_window_the_sizes_are_pis() -> None:
    budget = share_out(200_000, 3_000, 16_384, 20_000)

    assert (budget.threshold, budget.keep) == (200_000 - 16_384, 20_000)
