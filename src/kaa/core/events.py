"""The closed union of events: everything a frontend, a session or an extension learns, it learns from these.

Names and JSON shape follow pi's JSON mode (deltas only, as since pi 0.84), so `msgspec.json.encode(event)`
is one line of kaa's JSON mode.
"""

from typing import Literal, TypeAlias

import msgspec

from kaa.core.budget import BudgetScope, Measure
from kaa.core.messages import AssistantMessage, Json, Message, StopReason, ToolCall, ToolResultMessage, Usage
from kaa.core.provider import ThinkingLevel

RunEndReason = Literal[
    "done",
    "unfinished",
    "unverified",
    "loop",
    "error",
    "aborted",
    "denied",
    "length",
    "max_turns",
    "max_messages",
    "max_continuations",
    "budget",
]


class _Change(msgspec.Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True):
    """Base of what happens inside a reply."""


class _Event(msgspec.Struct, tag_field="type", rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """Base of all events. `agent`: the id of the agent that a tool runs; None for the conversation's own."""

    agent: str | None = None


# What happens inside one streamed reply; `content_index` counts the blocks of the message.


class TextStart(_Change, tag="text_start", frozen=True):
    """A text block begins."""

    content_index: int


class TextDelta(_Change, tag="text_delta", frozen=True):
    """More text."""

    content_index: int
    delta: str


class TextEnd(_Change, tag="text_end", frozen=True):
    """The text block is complete."""

    content_index: int


class ThinkingStart(_Change, tag="thinking_start", frozen=True):
    """A block of reasoning begins."""

    content_index: int


class ThinkingDelta(_Change, tag="thinking_delta", frozen=True):
    """More reasoning."""

    content_index: int
    delta: str


class ThinkingEnd(_Change, tag="thinking_end", frozen=True):
    """The block of reasoning is complete."""

    content_index: int


class ToolCallStart(_Change, tag="toolcall_start", frozen=True):
    """A tool call begins; its arguments follow as text."""

    content_index: int
    id: str
    name: str


class ToolCallDelta(_Change, tag="toolcall_delta", frozen=True):
    """More JSON text of the arguments."""

    content_index: int
    delta: str


class ToolCallEnd(_Change, tag="toolcall_end", frozen=True):
    """The tool call is complete."""

    content_index: int
    tool_call: ToolCall


class ReplyDone(_Change, tag="done", frozen=True):
    """The reply is complete."""

    reason: StopReason


class ReplyFailed(_Change, tag="error", frozen=True):
    """The reply broke off; what came stays in the message.

    `error_type` here and in other events is the kind of failure for programs: `ProviderError.kind`, such as
    `RateLimitError`; None where no server failed.
    """

    reason: StopReason
    error: str
    error_type: str | None = None


_MOST_REMARKS = 5
_REMARK_CHARACTERS = 400


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _REMARK_CHARACTERS else flat[: _REMARK_CHARACTERS - 1] + "…"


AssistantMessageEvent: TypeAlias = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | ReplyDone
    | ReplyFailed
)


# The life of a run.


class AgentStart(_Event, tag="agent_start", frozen=True):
    """The agent begins to work on what it was asked."""


class TurnStart(_Event, tag="turn_start", frozen=True):
    """One request to the model begins. `turn` counts from 1 within the run."""

    turn: int


class MessageStart(_Event, tag="message_start", frozen=True):
    """A message begins; for a streamed reply its content is still empty."""

    message: Message


class MessageUpdate(_Event, tag="message_update", frozen=True):
    """The streamed reply grew."""

    assistant_message_event: AssistantMessageEvent


class MessageEnd(_Event, tag="message_end", frozen=True):
    """A message is complete and part of the conversation."""

    message: Message


class ToolExecutionStart(_Event, tag="tool_execution_start", frozen=True):
    """A tool begins to run. `args` are the arguments that the model sent, under the names that the tool gives them."""

    tool_call_id: str
    tool_name: str
    args: dict[str, Json]


class ToolArgumentsReplaced(_Event, tag="tool_arguments_replaced", frozen=True):
    """A hook replaced the arguments of a call before it runs. `source`: the extension; empty if it is kaa's own."""

    tool_call_id: str
    tool_name: str
    args: dict[str, Json]
    source: str = ""


class ToolExecutionUpdate(_Event, tag="tool_execution_update", frozen=True):
    """A running tool has more to show: `delta` follows what came before.

    `skipped_bytes` counts output that was dropped because it came faster than it can be shown.
    """

    tool_call_id: str
    tool_name: str
    delta: str
    skipped_bytes: int = 0


class ToolExecutionEnd(_Event, tag="tool_execution_end", frozen=True):
    """A tool has finished. The result is already recorded when this is seen."""

    tool_call_id: str
    tool_name: str
    result: ToolResultMessage
    is_error: bool
    duration_ms: int


class TurnEnd(_Event, tag="turn_end", frozen=True):
    """The turn is over: the reply and all its tool calls are done, or the run broke off.

    Attributes:
        message: the reply; empty and not part of the conversation if the run broke off before the reply began.
        tool_results: of its calls.
    """

    turn: int
    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


class QueueUpdate(_Event, tag="queue_update", frozen=True):
    """The texts that wait to be given to the model."""

    steering: tuple[str, ...]
    follow_up: tuple[str, ...]


class AutoRetryStart(_Event, tag="auto_retry_start", frozen=True):
    """A transient error happened; the request is sent again after `delay_ms`."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str
    error_type: str | None = None


class AutoRetryEnd(_Event, tag="auto_retry_end", frozen=True):
    """The retries are over, with success or without."""

    success: bool
    attempt: int
    final_error: str | None = None


class ModelFallback(_Event, tag="model_fallback", frozen=True):
    """A model was given up, and another one goes on in its place; `ModelChanged` came before.

    Attributes:
        from_model: that was given up, as `provider/id`.
        to_model: that goes on.
        error_message: why.
    """

    from_model: str
    to_model: str
    error_message: str
    error_type: str | None = None


BudgetState = Literal["warning", "reached", "raised", "unknown_price"]


class BudgetUpdate(_Event, tag="budget_update", frozen=True):
    """Something is worth knowing of a limit.

    Attributes:
        state: `warning`: most of it is used; `reached`: all of it; `raised`: somebody allowed more, `limit` is the new
            one; `unknown_price`: that of the model is not known, so the limit of money does not count what it costs.
        used: in US dollars, tokens, requests or seconds, as `measure` says.
        limit: in the same unit.
        message: all of it in words.
    """

    state: BudgetState
    scope: BudgetScope
    measure: Measure
    used: float
    limit: float
    message: str


CompactionReason = Literal["manual", "threshold", "overflow"]


class CompactionStart(_Event, tag="compaction_start", frozen=True):
    """The conversation is being condensed: because somebody wanted it, or as it is (nearly) too long for the model."""

    reason: CompactionReason


class CompactionEnd(_Event, tag="compaction_end", frozen=True):
    """The conversation was condensed, unless it was stopped (`aborted`) or failed (`error`): then it is as before.

    Attributes:
        summary: what stands for what was dropped.
        tokens_before: that the context took.
        tokens_after: that it takes now, estimated.
        dropped: how many messages the summary stands for.
        kinds: how many of each kind: `user`, `assistant`, `toolResult`, `other`.
        will_retry: the request that was too long is sent again.
        usage: what the summary cost; `model` is the one that wrote it, as `provider/id`, None if it was an extension.
        first_kept_entry_id: the first entry that is kept as it is; the id of the compaction itself if none is.
        warning: what the user should know of it, such as that nothing more is condensed in this run.
    """

    reason: CompactionReason
    summary: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    dropped: int = 0
    kinds: dict[str, int] = {}
    will_retry: bool = False
    aborted: bool = False
    error: str | None = None
    warning: str | None = None
    usage: Usage | None = None
    model: str | None = None
    first_kept_entry_id: str = ""


class ResultsShortened(_Event, tag="results_shortened", frozen=True):
    """The model sees some results of tools in a shorter form from the next request on. The session has the whole ones.

    Attributes:
        reason: why, in words.
        results: how many.
        tokens_saved: in each request, estimated.
    """

    reason: str
    results: int
    tokens_saved: int

    @property
    def sentence(self) -> str:
        """What happened, for people."""
        results = "1 result" if self.results == 1 else f"{self.results:,} results"
        return f"{self.reason}: {results}, about {self.tokens_saved:,} tokens less in each request"


class AgentEnd(_Event, tag="agent_end", frozen=True):
    """The run is over. Any reason but `done` means that the task was not finished; `error` says why.

    Attributes:
        denials: calls that were not permitted, with the reason.
        unread_errors: calls that failed last, with the end of their output: the model has not answered since.
    """

    reason: RunEndReason
    messages: tuple[Message, ...]
    error: str | None = None
    denials: tuple[str, ...] = ()
    unread_errors: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person has to know, whatever else was said, a line each; none if all went well."""
        lines = [
            *(f"not permitted: {one}" for one in self.denials),
            *(f"failed last: {one}" for one in self.unread_errors),
        ]
        more = [f"and {len(lines) - _MOST_REMARKS} more"] if len(lines) > _MOST_REMARKS else []
        return (*(_one_line(line) for line in lines[:_MOST_REMARKS]), *more)


# What happens around runs, because a person wanted it.


class ModelChanged(_Event, tag="model_changed", frozen=True):
    """From the next request on this model answers."""

    provider: str
    model_id: str


class ThinkingLevelChanged(_Event, tag="thinking_level_changed", frozen=True):
    """From the next request on the model thinks this hard."""

    level: ThinkingLevel


class SessionInfoChanged(_Event, tag="session_info_changed", frozen=True):
    """The session is called `name` from now on; None: it has no name any more."""

    name: str | None


class ExtensionEntry(_Event, tag="extension_entry", frozen=True):
    """An extension added an entry that the user sees, but not the model.

    Attributes:
        entry_id: of the session.
        extension: its name.
        kind: its own name for this kind of entry; may be empty.
        display: what the user sees: display values, as the session has them.
    """

    entry_id: str
    extension: str
    kind: str
    display: Json


CacheMissCause = Literal[
    "model",
    "tools",
    "system_prompt",
    "thinking",
    "message",
    "expired",
    "first_request",
    "too_small",
    "not_cached",
    "unknown",
]


class CacheMiss(_Event, tag="cache_miss", frozen=True):
    """The provider's cache did not give what the last request had brought there, and it was paid for once more.

    Attributes:
        cause: what of the request had changed, or why nothing was kept: `expired` (too long ago), `first_request` (of
            this run, so that what changed since the one before is not known), `too_small` to be kept, `not_cached` (the
            server has told of no cache so far), `unknown` (nothing changed: the server has dropped it).
        detail: the cause in words, such as `the tool grep was added`.
        tokens: that were paid for in full, about.
        cost: in US dollars what they cost more than out of the cache; None if the prices are not known.
    """

    cause: CacheMissCause
    detail: str
    tokens: int
    cost: float | None = None


class BranchChanged(_Event, tag="branch_changed", frozen=True):
    """The conversation goes on after the entry `leaf_id` (None: from before the first), on whatever branch that is."""

    leaf_id: str | None


class CheckpointTaken(_Event, tag="checkpoint_taken", frozen=True):
    """What files were before and after a turn is kept. `files`: how many it changed."""

    checkpoint_id: str
    files: int


class RestoreProgress(_Event, tag="restore_progress", frozen=True):
    """Files are being put back: `done` of `total` paths. Told now and then, and only where there are many."""

    done: int
    total: int


_NAMES_OF_KAA = {"before_end hook": "the check of the result"} | {
    f"{when}_tool hook": f"hooks {when} the tool call" for when in ("before", "after")
}


class _Work(_Event, frozen=True):
    """A hook or a slash command that takes long.

    Attributes:
        owner: the extension, as its file if it has one; empty for kaa's own.
        name: what it is, for people: `/export`, `on_user_message hook`.
    """

    owner: str
    name: str

    @property
    def text(self) -> str:
        """What it is and whose."""
        if self.owner:
            return f"{self.name} of extension {self.owner.rpartition('/')[2]}"
        return _NAMES_OF_KAA.get(self.name, self.name)


class WorkStart(_Work, tag="work_start", frozen=True):
    """A hook or a slash command has run for half a second and goes on. See `_Work` for the fields."""


class WorkEnd(_Work, tag="work_end", frozen=True):
    """What a `WorkStart` announced is over, or waits for an answer of the person."""


class UserCommandStart(_Event, tag="user_command_start", frozen=True):
    """A command of the user's own begins to run. `in_context`: the model will be told of it."""

    command: str
    in_context: bool


class UserCommandUpdate(_Event, tag="user_command_update", frozen=True):
    """The user's command has more to show, as `ToolExecutionUpdate` does for tools."""

    delta: str
    skipped_bytes: int = 0


class UserCommandEnd(_Event, tag="user_command_end", frozen=True):
    """The user's command is over.

    Attributes:
        output: what is kept of its output, as plain text: the end of it.
        exit_code: None if it was stopped or ended by a signal.
        cancelled: the user stopped it.
        truncated: `output` is not all of it.
        full_output_path: a file that has all of it.
    """

    command: str
    in_context: bool
    output: str
    exit_code: int | None
    cancelled: bool
    truncated: bool
    full_output_path: str | None
    duration_ms: int


Event: TypeAlias = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolArgumentsReplaced
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | QueueUpdate
    | AutoRetryStart
    | AutoRetryEnd
    | ModelFallback
    | BudgetUpdate
    | CompactionStart
    | CompactionEnd
    | ResultsShortened
    | AgentEnd
    | ModelChanged
    | ThinkingLevelChanged
    | SessionInfoChanged
    | ExtensionEntry
    | CacheMiss
    | BranchChanged
    | CheckpointTaken
    | RestoreProgress
    | WorkStart
    | WorkEnd
    | UserCommandStart
    | UserCommandUpdate
    | UserCommandEnd
)
