"""What the output of hooks means, and which of several decisions holds."""

import json

import pytest

from kaa.components.hooks import HookDefinition, HookDialect, HookEvent
from kaa.components.hooks.outputs import MAX_TEXT, Ended, HookOutcome, answer_of, merged, outcome_of
from tests.support.tables import each


def hook(event: HookEvent, dialect: HookDialect = "claude", *, blocks: bool = False) -> HookDefinition:
    return HookDefinition(event, event, dialect, "command", "x", of_project=False, blocks_on_failure=blocks)


def said(
    output: object, event: HookEvent = "PreToolUse", code: int = 0, dialect: HookDialect = "claude"
) -> HookOutcome:
    return outcome_of(hook(event, dialect), Ended(code, json.dumps(output)))


@each(
    ("event", "decision"),
    [
        ("PreToolUse", "deny"),
        ("UserPromptSubmit", "deny"),
        ("Stop", "deny"),
        ("PreCompact", "deny"),
        ("PostToolUse", "deny"),
        ("SessionStart", ""),
        ("SessionEnd", ""),
        ("Notification", ""),
    ],
)
def test_exit_code_2_refuses_where_something_can_be_refused(event: HookEvent, decision: str) -> None:
    outcome = outcome_of(hook(event), Ended(2, "", "because"))

    assert outcome.decision == decision
    assert "because" in (outcome.reason, *outcome.messages, *outcome.problems)


@pytest.mark.parametrize("code", [0, 1, 2, 127])
def test_json_counts_at_any_exit_code(code: int) -> None:
    outcome = said({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}, code=code)

    assert (outcome.decision, "no" in outcome.reason) == ("deny", True)


def test_an_allow_with_exit_code_2_is_a_refusal() -> None:
    assert said({"decision": "approve"}, code=2).decision == "deny"


def test_other_failures_refuse_only_if_the_hook_says_so() -> None:
    ended = Ended(1, "", "boom\nmore")

    assert outcome_of(hook("PreToolUse"), ended) == HookOutcome(problems=("failed with exit code 1: boom",))
    assert outcome_of(hook("PreToolUse", blocks=True), ended).decision == "deny"
    assert outcome_of(hook("PreToolUse", blocks=True), Ended(None, problem="hung")).decision == "deny"


@pytest.mark.parametrize(
    ("event", "decision"),
    [("UserPromptSubmit", "deny"), ("PreCompact", "deny"), ("PostToolUse", "deny"), ("Stop", ""), ("SubagentStop", "")],
)
def test_a_failure_that_blocks_lets_an_agent_end(event: HookEvent, decision: str) -> None:
    assert outcome_of(hook(event, blocks=True), Ended(1, "", "boom")).decision == decision
    assert outcome_of(hook(event, blocks=True), Ended(0, "{")).decision == decision


@pytest.mark.parametrize("output", [{"decision": "maybe"}, {"hookSpecificOutput": {"permissionDecision": 5}}])
def test_an_unknown_decision_is_a_failure_that_may_block(output: object) -> None:
    assert outcome_of(hook("PreToolUse", blocks=True), Ended(0, json.dumps(output))).decision == "deny"
    assert said(output, "Stop").decision == ""
    assert said(output, "Stop").problems


@pytest.mark.parametrize(
    "output",
    [
        '{"hookSpecificOutput": {"permissionDecision": "denied"}}',
        '{"decision": true}',
        '[{"decision": "block"}]',
        'debug {"decision": "block"}',
        '"block"',
        "deny\n",
        '{"hookSpecificOutput": {"permisionDecision": "deny"}}',
        '{"Decision": "block"}',
    ],
)
def test_a_guard_whose_decision_is_not_understood_denies(output: str) -> None:
    outcome = outcome_of(hook("PreToolUse"), Ended(0, output))

    assert outcome.decision == "deny"
    assert outcome.problems


@pytest.mark.parametrize("before", ["\ufeff", "debug line\n", "\ufeff\r\n", "[1, 2]\n"])
def test_the_answer_of_a_guard_counts_whatever_it_printed_before(before: str) -> None:
    outcome = outcome_of(hook("PreToolUse"), Ended(0, f'{before}{{"decision": "block", "reason": "no"}}'))

    assert outcome == HookOutcome("deny", "no")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_answer_of_a_guard_counts_in_the_encodings_of_windows(encoding: str) -> None:
    printed = '{"decision": "block", "reason": "no"}\r\n'.encode(encoding).decode("utf-8", "replace")

    assert outcome_of(hook("PreToolUse"), Ended(0, printed)) == HookOutcome("deny", "no")


def test_a_hook_that_writes_false_as_a_text_stops_the_agent() -> None:
    assert outcome_of(hook("PreToolUse"), Ended(0, '{"continue": "false"}')).halts


@pytest.mark.parametrize(
    "output",
    [
        "[1, 2]",
        "[INFO] ls",
        "blocked 3 calls",
        '"ok"',
        '{"mode": "strict"}',
        '{"decision": null}',
        '{"decision": ""}',
        "\ufeff{}",
    ],
)
def test_a_guard_that_decides_nothing_lets_the_call_pass(output: str) -> None:
    assert outcome_of(hook("PreToolUse"), Ended(0, output)) == HookOutcome()


def test_a_tool_that_has_to_answer_answers_json() -> None:
    tool = HookDefinition(
        "PreToolUse", "PreToolUse", "claude", "mcp_tool", "x", of_project=False, blocks_on_failure=True
    )

    assert [answer_of(tool, text).decision for text in ("fine", "", "{}")] == ["deny", "", ""]


def test_plain_output_is_for_the_model_at_prompts_and_starts_only() -> None:
    assert outcome_of(hook("UserPromptSubmit"), Ended(0, "be kind\n")).contexts == ("be kind",)
    assert outcome_of(hook("PreToolUse"), Ended(0, "be kind\n")) == HookOutcome()
    assert outcome_of(hook("UserPromptSubmit", "gemini"), Ended(0, "be kind")).messages == ("be kind",)


def test_the_answer_may_follow_a_line_that_announces_it() -> None:
    announcement, answer = '{"async": true, "asyncTimeout": 1000}', '{"systemMessage": "built"}'

    assert outcome_of(hook("SessionStart"), Ended(0, f"{announcement}\n{answer}\n{{")).messages == ("built",)
    assert outcome_of(hook("SessionStart"), Ended(0, announcement)) == HookOutcome()
    two = outcome_of(hook("SessionStart"), Ended(0, f"{answer}\n{answer}"))
    assert two.problems == ("printed invalid JSON, which is not used",)


@each("output", ["{", '{"decision": ', "{" * 100_000, '{"a":' * 100_000])
@each("code", [0, 1])
def test_a_guard_that_prints_invalid_json_denies(output: str, code: int) -> None:
    outcome = outcome_of(hook("PreToolUse"), Ended(code, output))

    assert outcome.decision == "deny"
    assert "printed invalid JSON" in outcome.reason


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "Stop"])
def test_invalid_json_after_calls_and_at_prompts_is_named(event: HookEvent) -> None:
    outcome = outcome_of(hook(event), Ended(0, "{"))

    assert outcome == HookOutcome(problems=("printed invalid JSON, which is not used",))


@pytest.mark.parametrize("reason", ["two\nlines", "a\ttab", "half \\ud83d"])
def test_a_decision_with_a_raw_line_break_or_half_a_character_holds(reason: str) -> None:
    outcome = outcome_of(hook("PreToolUse"), Ended(0, f'{{"decision": "block", "reason": "{reason}"}}'))

    assert outcome.decision == "deny"
    assert outcome.reason.startswith(reason[:3])
    assert not outcome.problems


@pytest.mark.parametrize("value", [1, [], {}, None, True])
def test_values_of_wrong_types_are_not_used(value: object) -> None:
    fields = ("decision", "reason", "hookSpecificOutput", "systemMessage", "continue", "stopReason")

    assert said(dict.fromkeys(fields[1:], value)) == HookOutcome()


def test_the_strictest_decision_holds_with_its_reasons() -> None:
    outcomes = [
        HookOutcome("allow", "a"),
        HookOutcome("deny", "d"),
        HookOutcome("ask", "k"),
        HookOutcome("deny", "e"),
        HookOutcome("defer"),
    ]

    assert (merged(outcomes).decision, merged(outcomes).reason) == ("deny", "d\ne")
    assert merged(outcomes[::2]).decision == "defer"
    assert merged([HookOutcome("allow"), HookOutcome("ask")]).decision == "ask"
    assert merged([]) == HookOutcome()


def test_a_refusal_of_gemini_replaces_the_result_and_its_input_is_merged() -> None:
    assert said({"decision": "deny", "reason": "hidden"}, "PostToolUse", dialect="gemini").replacement == "hidden"
    update = said({"hookSpecificOutput": {"tool_input": {"command": "ls"}}}, dialect="gemini")
    assert (update.updated_input, update.merges) == ({"command": "ls"}, True)


def test_texts_have_a_most_length() -> None:
    assert len(said({"decision": "deny", "reason": "x" * 1_000_000}).reason) < MAX_TEXT + 100
