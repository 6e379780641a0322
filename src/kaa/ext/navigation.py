"""Where a conversation can go on: at another place of its session, or in another session."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:
    from kaa.session.outline import Outline
    from kaa.workspace.checkpoints.plans import FileDifference


# What the present files are compared with: those at the start of the session, or before the person's last message.
Since: TypeAlias = Literal["start", "message"]


class PersonsMessage(Protocol):
    """A message of the person's on the current branch."""

    @property
    def entry_id(self) -> str:
        """The id of its entry."""

    @property
    def text(self) -> str:
        """What it says."""


class SessionChanges(msgspec.Struct, frozen=True):
    """What a session did to the project's files.

    Attributes:
        files: sorted by path.
        gaps: sentences that say of which turns nothing is kept, and why.
    """

    files: "tuple[FileDifference, ...]" = ()
    gaps: tuple[str, ...] = ()


class SessionNavigation(Protocol):
    """Goes elsewhere in the session. All raise CommandError where there is nowhere to go."""

    def points(self) -> Sequence[PersonsMessage]:
        """The person's messages on the current branch, the newest last."""

    async def outline(self) -> "Outline":
        """The whole tree of the session, a row for each entry."""

    async def travel(self, entry_id: str, *, restore: Literal["conversation", "both"] = "conversation") -> str:
        """Go on from an entry: before a message of the person's, behind every other one.

        Args:
            entry_id: where to.
            restore: what goes there; `both`: also the project's files.

        Returns:
            What that did, in words.
        """

    async def restart(self) -> str:
        """Go on before everything that was said: the model begins with an empty context, files stay as they are.

        Returns:
            What that did, in words.
        """

    async def undo(
        self,
        *,
        uncertain: Literal["keep", "restore"] = "keep",
        restore: Literal["conversation", "both"] = "both",
    ) -> str:
        """Take back the user's last message and what was done for it to files. Returns what that did, in words.

        `uncertain`: what happens to files that changed while only a background process ran. `restore`: what goes back.
        """

    async def redo(self, *, restore: Literal["conversation", "both"] = "both") -> str:
        """Return to where the conversation and its files were. Returns what that did, in words."""

    async def changes(self) -> SessionChanges:
        """What the session did to files until now, on the current branch."""

    def label_here(self, text: str) -> None:
        """Give the last thing said a name; an empty text takes it away."""


class ListedSession(msgspec.Struct, frozen=True):
    """A session as a list shows it. `title`: its name, or how its first message begins."""

    id: str
    path: str
    title: str


class FoundText(msgspec.Struct, frozen=True):
    """A place where a text was said, called or printed. `excerpt`: the text with what is around it, on one line."""

    session: ListedSession
    entry_id: str
    excerpt: str


class SessionList(Protocol):
    """The sessions that a command can open (`kaa.ext.api.OpenSession`)."""

    async def search(self, text: str) -> Sequence[FoundText]:
        """Where a text was said in the sessions of this directory, or else in those of all; the newest first.

        Args:
            text: words and "phrases" that all stand in one entry, or `re:` and a regular expression.

        Raises:
            CommandError: the text is not understood.
        """

    async def here(self) -> Sequence[ListedSession]:
        """The sessions of this directory, the newest first."""

    async def find(self, query: str) -> str:
        """The file of the session that a path, the beginning of an id, or a part of a title means.

        Raises:
            CommandError: none, or several.
        """
