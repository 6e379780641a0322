"""The session as extensions use it: entries and messages of their own, and what was said."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from kaa.core.messages import Json, Message

if TYPE_CHECKING:
    from kaa.ext.showing import DisplayContent
    from kaa.session.outline import Outline


class OwnEntry(msgspec.Struct, frozen=True):
    """An entry that the extension added. `kind`, `data`: as they were given; `timestamp`: ISO 8601, UTC."""

    id: str
    kind: str
    data: Json
    timestamp: str


class ConversationSession(Protocol):
    """The session of a conversation, for one extension. Everything is read from the current branch of the session.

    So data is restored when a session is resumed, and changes with the branch when the user rewinds.
    """

    def append(self, data: Json, kind: str = "", *, display: "DisplayContent" = "") -> str:
        """Add an entry that the model does not see. Returns its id.

        Args:
            data: a JSON value, at most 256 KiB.
            kind: the extension's name for this kind of entry: letters, digits, `_`, `-` and `.`.
            display: texts and display values that the user sees in its place; by default the user does not see it.

        Raises:
            CommandError: `data` is not JSON or too large, `kind` is invalid, or the session cannot be written.
            TypeError: `display` is something else.
            ValueError: `display` is too long.
        """

    def note_work(self, kind: str, about: str) -> None:
        """Note work that is under way: if kaa is killed meanwhile, the next opening of the session or project tells it.

        Args:
            kind: of the work: a session has one of each kind.
            about: what it is, where it is and how to go on with it, for people; empty when it has ended.
        """

    def add_message(
        self, text: str, kind: str = "", *, display: "bool | DisplayContent" = True, details: Json = None
    ) -> None:
        """Add a message that the model sees with its next request. It starts no run.

        While tools of a reply run, the message waits until they are done.

        Args:
            text: the message, not empty.
            kind: as in `append`.
            display: what the user sees: the text (True), nothing (False), or these texts and display values.
            details: a JSON value that the model does not see, at most 256 KiB. With display values it is an object,
                which keeps them as `display`.

        Raises:
            CommandError: as `append` does.
            TypeError: `display` is something else, or `details` is no object.
            ValueError: `display` is too long.
        """

    def entries(self, kind: str | None = None) -> Sequence[OwnEntry]:
        """The extension's own entries on the current branch, the oldest first; of all kinds unless one is given."""

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation as the model sees it: after a compaction, the summary stands for what it replaced."""

    async def outline(self) -> "Outline":
        """All branches: one row for each entry, with its id, its parent, its label and the beginning of its text."""

    def label(self, entry_id: str, text: str | None) -> None:
        """Give an entry a name; None takes it away.

        Raises:
            CommandError: there is no such entry, or the session cannot be written.
        """
