"""The arguments and types of all hooks. The modules of `kaa.ext.registration` say when each hook runs."""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec

from kaa.core.events import CompactionEnd, CompactionReason, Event
from kaa.core.hooks import Block, Continue, GiveUp, Refuse, ReplaceArguments, ReplaceMessages, RunAgain, UseThinking
from kaa.core.messages import AssistantMessage, Json, Message, ToolCall, ToolResultMessage, UserMessage
from kaa.core.provider import Model, Request
from kaa.core.tool import Permit, ToolResult
from kaa.ext.context import ConversationContext

SwitchKind: TypeAlias = Literal["new", "resume", "fork", "view"]
"""How kaa opens another session: a new one, an existing one, a copy, or one that is only viewed."""

StartReason: TypeAlias = Literal["startup", "reload"] | SwitchKind
SessionEndReason: TypeAlias = Literal["quit", "reload"] | SwitchKind


class SessionStart(msgspec.Struct, frozen=True):
    """A conversation starts, or begins to use the extension.

    Attributes:
        reason: `startup` for the first session of the process; `reload` if the extension was loaded or enabled during
            the conversation; otherwise how the user switched to it.
        session_id: id of the session.
        path: file of the session; None with `--no-session`.
    """

    reason: StartReason
    session_id: str
    path: str | None


class SessionEnd(msgspec.Struct, frozen=True):
    """A conversation ends, or does without the extension from now on.

    Attributes:
        reason: `quit` if kaa ends; `reload` if the extension is unloaded, disabled, or replaced by its next version;
            otherwise how the user switches to another session.
        session_id: id of the session.
        path: file of the session; None with `--no-session`.
    """

    reason: SessionEndReason
    session_id: str
    path: str | None


class NavigationRequest(msgspec.Struct, frozen=True):
    """The user wants to continue at another entry or in another session.

    Attributes:
        kind: `tree`, `undo` and `redo` stay in the session; the others open another session.
        target: within the session, the id of the entry after which the conversation would continue; None is the start.
            For another session, its path or id; None is a new session.
        restore: what moves: the conversation, the project's files, or both.
    """

    kind: Literal["tree", "undo", "redo"] | SwitchKind
    target: str | None
    restore: Literal["conversation", "files", "both"] = "conversation"


class Notification(msgspec.Struct, frozen=True):
    """A message or question for the user.

    Attributes:
        kind: `notice`: a message that kaa shows; `question`: kaa waits for an answer.
        text: the message, or the question in one line.
    """

    kind: Literal["notice", "question"]
    text: str


class CompactionRequest(msgspec.Struct, frozen=True):
    """The part of a conversation that a summary will replace.

    Attributes:
        messages: the messages to summarize, the oldest first. Messages that stay are not included.
        previous_summary: the summary of everything before them; empty at the first compaction. The new summary replaces
            it too.
        instructions: the user's instructions for the summary; may be empty.
        reason: why kaa compacts now.
        tokens_before: size of the whole context.
    """

    messages: tuple[Message, ...]
    previous_summary: str
    instructions: str
    reason: CompactionReason
    tokens_before: int


class CondensedText(msgspec.Struct, frozen=True):
    """A summary. kaa stores `details` with it in the session and does not read them."""

    text: str
    details: Json = None


class ResultsRequest(msgspec.Struct, frozen=True):
    """The conversation before a request, for hooks that shorten old results.

    Attributes:
        model: the one that gets the request.
        messages: as it sees them. All but the newest ones were sent before.
        lasting: names of the tools whose results stay as they are (`lasting` of `register_tool`).
    """

    model: Model
    messages: tuple[Message, ...]
    lasting: frozenset[str]


class ShortenResults(msgspec.Struct, frozen=True):
    """The model sees these results in this form from now on.

    Attributes:
        results: messages of the `ResultsRequest`, with another `content`.
        reason: why, for people: a clause such as `old results were left out`.
    """

    results: tuple[ToolResultMessage, ...]
    reason: str


SessionStartHook: TypeAlias = Callable[[SessionStart, ConversationContext], Awaitable[None]]
Service: TypeAlias = Callable[[ConversationContext], Awaitable[None]]
SessionEndHook: TypeAlias = Callable[[SessionEnd, ConversationContext], Awaitable[None]]
UserMessageHook: TypeAlias = Callable[[UserMessage, ConversationContext], Awaitable[UserMessage | Block | None]]
InputTransformer: TypeAlias = Callable[[str, ConversationContext], Awaitable[str | None]]
BeforeRequestHook: TypeAlias = Callable[
    [Request, ConversationContext], Awaitable[ReplaceMessages | UseThinking | GiveUp | None]
]
BeforeToolHook: TypeAlias = Callable[
    [ToolCall, ConversationContext], Awaitable[Block | ReplaceArguments | Permit | None]
]
AfterToolHook: TypeAlias = Callable[
    [ToolCall, ToolResult, ConversationContext], Awaitable[ToolResult | RunAgain | Refuse | None]
]
MissingToolHook: TypeAlias = Callable[[str, ConversationContext], Awaitable[str | None]]
BeforeEndHook: TypeAlias = Callable[[AssistantMessage, ConversationContext], Awaitable[Continue | GiveUp | None]]
BeforeCompactionHook: TypeAlias = Callable[[CompactionRequest, ConversationContext], Awaitable[Block | None]]
AfterCompactionHook: TypeAlias = Callable[[CompactionEnd, ConversationContext], Awaitable[None]]
ShortenResultsHook: TypeAlias = Callable[[ResultsRequest, ConversationContext], Awaitable[ShortenResults | None]]
BeforeNavigationHook: TypeAlias = Callable[[NavigationRequest, ConversationContext], Awaitable[Block | None]]
Compactor: TypeAlias = Callable[[CompactionRequest], Awaitable[CondensedText | None]]
CarriedSection: TypeAlias = Callable[[ConversationContext], str | None]
EventHandler: TypeAlias = Callable[[Event, ConversationContext], None]
NotificationHandler: TypeAlias = Callable[[Notification, ConversationContext], None]


class EventObserver(msgspec.Struct, frozen=True):
    """A handler, and the classes of events that it wants; all without any."""

    handler: EventHandler
    kinds: tuple[type[object], ...] = ()

    def wants(self, event: Event) -> bool:
        """Whether it wants an event."""
        return not self.kinds or type(event) in self.kinds

    def __call__(self, event: Event, context: ConversationContext) -> object:
        """Call it. Extensions may return what they must not."""
        handler: Callable[[Event, ConversationContext], object] = self.handler
        return handler(event, context)
