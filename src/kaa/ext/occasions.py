"""What hooks of extensions learn of a session: its start and end, navigation, notifications."""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec

from kaa.core.events import CompactionEnd
from kaa.core.hooks import Block
from kaa.ext.context import ConversationContext

SwitchKind: TypeAlias = Literal["new", "resume", "fork", "view"]
"""How another session is opened: a new one, one that exists, a copy, or one to look at only."""

StartReason: TypeAlias = Literal["startup"] | SwitchKind
SessionEndReason: TypeAlias = Literal["quit"] | SwitchKind


class SessionStart(msgspec.Struct, frozen=True):
    """A conversation begins.

    Attributes:
        reason: `startup`: the first session of the process, whichever it is; otherwise how the user switched to it.
        session_id: the session.
        path: its file; None if it is not kept.
    """

    reason: StartReason
    session_id: str
    path: str | None


class SessionEnd(msgspec.Struct, frozen=True):
    """A conversation is about to be closed.

    Attributes:
        reason: `quit`: kaa ends; otherwise how the user switches to another session.
        session_id: the session.
        path: its file; None if it is not kept.
    """

    reason: SessionEndReason
    session_id: str
    path: str | None


class NavigationRequest(msgspec.Struct, frozen=True):
    """The user wants to go elsewhere.

    Attributes:
        kind: `tree`, `undo` and `redo` stay in the session; the others open another session.
        target: within the session, the id of the entry after which the conversation would continue, None before the
            first one. Of another session, its path or id, None for a new one.
        restore: what goes there: the conversation, the project's files, or both.
    """

    kind: Literal["tree", "undo", "redo"] | SwitchKind
    target: str | None
    restore: Literal["conversation", "files", "both"] = "conversation"


class Notification(msgspec.Struct, frozen=True):
    """Something for the user's attention.

    Attributes:
        kind: `notice`: a message that kaa shows; `question`: kaa waits for an answer.
        text: the message, or the question in one line.
    """

    kind: Literal["notice", "question"]
    text: str


SessionStartHook: TypeAlias = Callable[[SessionStart, ConversationContext], Awaitable[None]]
SessionEndHook: TypeAlias = Callable[[SessionEnd, ConversationContext], Awaitable[None]]
AfterCompactionHook: TypeAlias = Callable[[CompactionEnd, ConversationContext], Awaitable[None]]
BeforeNavigationHook: TypeAlias = Callable[[NavigationRequest, ConversationContext], Awaitable[Block | None]]
NotificationHandler: TypeAlias = Callable[[Notification, ConversationContext], None]
