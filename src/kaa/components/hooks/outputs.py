"""What the output of hooks means: of one, and of several that ran for the same event."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from kaa.components.hooks import HookDefinition, HookEvent, is_judge
from kaa.core.lenient_json import decode_lenient

Decision: TypeAlias = Literal["", "allow", "ask", "defer", "deny"]

MAX_TEXT = 10_000
"""Of a reason or a context, in characters, as in Claude Code."""

_RANK: dict[Decision, int] = {"": 0, "allow": 1, "ask": 2, "defer": 3, "deny": 4}
_WORDS: dict[str, Decision] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "defer": "defer",
    "deny": "deny",
    "block": "deny",
}
# Exit code 2 and `decision: block` prevent what these events announce.
BLOCKABLE: frozenset[HookEvent] = frozenset({"PreToolUse", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact"})
# What has happened cannot be prevented; the model gets the reason.
_TOLD: frozenset[HookEvent] = frozenset({"PostToolUse", "PostToolUseFailure"})
# A failure with `onFailure: block` counts as exit code 2, but lets an agent end (Claude Code 2.1.332).
_BLOCKED_BY_FAILURES = (BLOCKABLE | _TOLD) - {"Stop", "SubagentStop"}
_UNJUDGED = (
    'A hook that asks a model refuses what the model did not judge; with "onFailure": "continue" in its entry, it lets'
    " that pass."
)
# What an answer of a guard has, whatever else it printed.
_DECISIONS = ('"decision"', '"permissionDecision"')
_KNOWN_KEYS = frozenset(
    ("decision", "permissionDecision", "permissionDecisionReason", "reason", "stopReason", "systemMessage")
) | {"additionalContext", "hookEventName", "updatedInput", "tool_input"}
# Plain output of these is for the model.
_PLAIN: frozenset[HookEvent] = frozenset({"UserPromptSubmit", "SessionStart"})


class Ended(msgspec.Struct, frozen=True):
    """How a command ended.

    Attributes:
        exit_code: None if it has none: it could not be run, took too long, or printed too much.
        problem: why there is no exit code, or what led to it where more is known than the command says, as the rest of
            a sentence.
        undecided: its decision is unknown, because kaa could not start it or read all of its answer.
    """

    exit_code: int | None
    output: str = ""
    errors: str = ""
    problem: str = ""
    undecided: bool = False

    @classmethod
    def unstarted(cls, reason: str) -> "Ended":
        """Return the end of a command that kaa could not start."""
        return cls(None, problem=f"was not run: {reason}", undecided=True)


class HookOutcome(msgspec.Struct, frozen=True):
    """What hooks want.

    Attributes:
        decision: about what the event announces; after a tool, `deny` is an objection that the model gets.
        updated_input: what the tool gets instead; None leaves it.
        merges: that is added to the input, instead of replacing it (Gemini).
        replacement: of the result; None leaves it.
        halts: the agent is to stop, whatever the decision is (`continue: false`).
        problems: why a hook failed, likewise.
    """

    decision: Decision = ""
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    merges: bool = False
    contexts: tuple[str, ...] = ()
    replacement: str | None = None
    halts: bool = False
    messages: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def outcome_of(hook: HookDefinition, ended: Ended) -> HookOutcome:
    """What a hook wants by its output and its exit code. JSON counts at any exit code."""
    if ended.undecided and hook.event == "PreToolUse":  # it might have refused
        return HookOutcome("deny", f"it {ended.problem}", problems=(f"{ended.problem}; the call was denied",))
    if ended.exit_code is None:
        return failed(hook, ended.problem)
    output = _without_encoding(ended.output)
    said = _said(hook, output, succeeded=ended.exit_code == 0)
    if ended.exit_code == 2:
        return merged((said, _exit_2(hook, _cut(ended.errors.strip()) or said.reason)))
    if ended.exit_code != 0:
        first = next(iter(ended.errors.strip().splitlines()), "")[:200]
        problem = ended.problem or f"failed with exit code {ended.exit_code}{f': {first}' if first else ''}"
        return merged((said, failed(hook, problem)))
    return said


def _without_encoding(output: str) -> str:
    """An output without the mark that some programs write first, and without the null bytes of UTF-16 (PowerShell)."""
    mark = "\ufeff"
    if "\0" in output:
        output, mark = output.replace("\0", ""), "\ufeff\ufffd\udcff\udcfe"
    return output.strip().lstrip(mark).lstrip()


def _said(hook: HookDefinition, output: str, *, succeeded: bool) -> HookOutcome:
    """What a hook wants by what it printed."""
    decides = hook.event == "PreToolUse" and any(name in output for name in _DECISIONS)
    if decides and not output.startswith("{"):
        output = output[max(0, output.find("\n{")) :].lstrip()  # after lines that the guard printed besides
    if output.startswith("{"):
        try:
            found = _decoded(output)
        except (msgspec.DecodeError, RecursionError):
            return _undecided(hook, "printed invalid JSON")
        problem = _unknown_decision(found) or (_misplaced_refusal(found) if hook.event == "PreToolUse" else "")
        return merged((_undecided(hook, problem), _read(hook, found))) if problem else _read(hook, found)
    if decides or (hook.event == "PreToolUse" and _decision(output.strip("\"'")) == "deny"):
        return _undecided(hook, "printed a decision that is no JSON object")
    if hook.handler == "mcp_tool" and output and _has_to_answer(hook) and hook.event != "PreCompact":
        return failed(hook, "answered no JSON")
    if output and succeeded and hook.dialect == "gemini":
        return HookOutcome(messages=(_cut(output),))
    if output and succeeded and hook.event in _PLAIN:
        return HookOutcome(contexts=(_cut(output),))
    return HookOutcome()


def _decoded(output: str) -> Any:
    """The answer in an output. Scripts that go on in the background in Claude Code first print a line that says so."""
    first, _, rest = output.partition("\n")
    try:
        announced = msgspec.json.decode(first)
    except (msgspec.DecodeError, RecursionError):
        return decode_lenient(_bytes(output))
    is_async = rest.strip() and isinstance(announced, dict) and announced.get("async") is True
    return decode_lenient(_bytes(rest.strip().partition("\n")[0] if is_async else output))


def _bytes(output: str) -> bytes:
    return output.encode("utf-8", "replace")


def _undecided(hook: HookDefinition, problem: str) -> HookOutcome:
    """Deny where a tool is about to run: the answer may be a refusal. `problem`: the rest of a sentence."""
    if hook.event == "PreToolUse":
        return HookOutcome(
            "deny", f"it {problem}, so its decision is unknown", problems=(f"{problem}; the call was denied",)
        )
    return failed(hook, f"{problem}, which is not used")


def _unknown_decision(found: Mapping[str, Any]) -> str:
    """The decision that nobody knows, as the rest of a sentence; empty if there is none."""
    specific = found.get("hookSpecificOutput")
    decisions = [found.get("decision"), specific.get("permissionDecision") if isinstance(specific, dict) else None]
    unknown = [one for one in decisions if one not in (None, "") and not _decision(one)]
    return f"answered the unknown decision {str(unknown[0])[:80]!r}" if unknown else ""


def _misplaced_refusal(found: Mapping[str, Any]) -> str:
    """The refusal that stands under an unknown key, such as a misspelled one, as the rest of a sentence."""
    specific = found.get("hookSpecificOutput")
    values = [*found.items(), *(specific.items() if isinstance(specific, dict) else ())]
    keys = (key for key, value in values if key not in _KNOWN_KEYS and _decision(value) == "deny")
    return next((f"answered a refusal under the unknown key {key[:80]!r}" for key in keys), "")


def answer_of(hook: HookDefinition, answer: str) -> HookOutcome:
    """What an `http` or `mcp_tool` handler wants: its answer counts like the output of a command that succeeds."""
    return outcome_of(hook, Ended(0, answer))


def failed(hook: HookDefinition, problem: str) -> HookOutcome:
    """A hook that failed prevents nothing, unless it judges or says so itself. `problem`: the rest of a sentence."""
    if not _has_to_answer(hook):
        return HookOutcome(problems=(problem,))
    if is_judge(hook.handler, hook.event):
        problem = f"{problem.rstrip('.')}. {_UNJUDGED}"
    return HookOutcome("deny", f"it {problem}", problems=(problem,))


def _has_to_answer(hook: HookDefinition) -> bool:
    return hook.blocks_on_failure and hook.event in _BLOCKED_BY_FAILURES


def merged(outcomes: Iterable[HookOutcome]) -> HookOutcome:
    """What several hooks want: deny > defer > ask > allow. Of several new inputs the last one counts."""
    outcomes = tuple(outcomes)
    decision: Decision = max((one.decision for one in outcomes), key=lambda one: _RANK[one], default="")
    reasons = dict.fromkeys(one.reason for one in outcomes if one.decision == decision and one.reason)
    updates = [one for one in outcomes if one.updated_input is not None]
    replacements = [one.replacement for one in outcomes if one.replacement is not None]
    return HookOutcome(
        decision=decision,
        reason="\n".join(reasons),
        updated_input=updates[-1].updated_input if updates else None,
        merges=bool(updates) and updates[-1].merges,
        contexts=tuple(text for one in outcomes for text in one.contexts),
        replacement=replacements[-1] if replacements else None,
        halts=any(one.halts for one in outcomes),
        messages=tuple(text for one in outcomes for text in one.messages),
        problems=tuple(text for one in outcomes for text in one.problems),
    )


def _exit_2(hook: HookDefinition, reason: str) -> HookOutcome:
    if hook.event in BLOCKABLE or hook.event in _TOLD:
        return HookOutcome("deny", reason or "no reason was given")
    return HookOutcome(messages=(reason or "exit code 2",))


def _read(hook: HookDefinition, found: Mapping[str, Any]) -> HookOutcome:
    given = found.get("hookSpecificOutput")
    specific: Mapping[str, Any] = given if isinstance(given, dict) else {}
    decision = _decision(specific.get("permissionDecision")) or _decision(found.get("decision"))
    reason = _text(specific.get("permissionDecisionReason")) or _text(found.get("reason"))
    if (hook.event not in BLOCKABLE and hook.event not in _TOLD) or (hook.event in _TOLD and decision != "deny"):
        decision = ""
    halts = found.get("continue") in (False, "false")  # 0 is False, too
    if halts:
        reason = reason or _text(found.get("stopReason"))
    replacement = None
    if hook.event == "PostToolUse":
        output = specific.get("updatedMCPToolOutput", found.get("updatedMCPToolOutput"))
        replacement = None if output is None else _plain(output)
        if hook.dialect == "gemini" and decision == "deny":
            replacement = reason
    key = "tool_input" if hook.dialect == "gemini" else "updatedInput"
    update = specific.get(key) if hook.event == "PreToolUse" else None
    context = _text(specific.get("additionalContext")) or _text(found.get("additionalContext"))
    message = _text(found.get("systemMessage"))
    return HookOutcome(
        decision=decision,
        reason=reason,
        updated_input=update if isinstance(update, dict) else None,
        merges=hook.dialect == "gemini",
        contexts=(context,) if context else (),
        replacement=replacement,
        halts=halts,
        messages=(message,) if message else (),
    )


def _decision(value: object) -> Decision:
    return _WORDS.get(value.lower(), "") if isinstance(value, str) else ""


def _plain(value: object) -> str:
    """A result of a tool as text."""
    content = value.get("content") if isinstance(value, dict) else value
    if isinstance(content, Sequence) and not isinstance(content, str):
        texts = [one["text"] for one in content if isinstance(one, dict) and isinstance(one.get("text"), str)]
        if texts:
            return "\n".join(texts)
    return content if isinstance(content, str) else msgspec.json.encode(value).decode()


def _text(value: object) -> str:
    return _cut(value.strip()) if isinstance(value, str) else ""


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n[cut after {MAX_TEXT} characters]"
