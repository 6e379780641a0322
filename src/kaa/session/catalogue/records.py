"""What the catalogue tells: of a session, of a place where a text was found, of what replies used in a day."""

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

SessionOrigin: TypeAlias = Literal["kaa", "pi"]
SessionScope: TypeAlias = Literal["here", "everywhere"]
"""The sessions of one directory, or all."""

_UNTITLED = "(no messages)"


class SessionSummary(msgspec.Struct, rename="camel", frozen=True):
    """A session as a list shows it.

    Attributes:
        cwd: the directory it is about; empty in old files that do not say.
        name: what the user called it.
        first_message: what the first message of the user's, or of a slash command, is about (`kaa.session.headline`).
        created_ms: Unix time in milliseconds, as the other one.
        modified_ms: when the user or the model last said something.
        message_count: messages on all branches, tool results among them, as pi counts.
        parent: the session it was copied from; the file may be gone.
        size: of the file, in bytes.
        origin: in whose folder it is kept. Both programs can go on with either.
    """

    path: Path
    id: str
    cwd: str
    name: str | None
    first_message: str
    created_ms: int
    modified_ms: int
    message_count: int
    parent: Path | None
    size: int
    origin: SessionOrigin

    @property
    def title(self) -> str:
        """What to call it, on one line."""
        return " ".join((self.name or self.first_message).split()) or _UNTITLED


class SearchHit(msgspec.Struct, rename="camel", frozen=True):
    """A place where a text was found.

    Attributes:
        before: what stands before the first match, from the beginning of a line or shortened.
        match: the text found, as it is written there.
    """

    session: SessionSummary
    entry_id: str
    before: str
    match: str
    after: str


class UsageRow(msgspec.Struct, rename="camel", frozen=True):
    """What one model's replies used in one session on one day.

    Attributes:
        day: ISO date where the user is.
        replies: how many; summaries of compactions and branches count in the tokens only.
        input: tokens that were neither read from nor written to the provider's cache.
        cost: US dollars; 0 where no price was known.
    """

    session: Path
    provider: str
    model: str
    day: str
    replies: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: float

    @property
    def tokens(self) -> int:
        """All that models read and wrote."""
        return self.input + self.output + self.cache_read + self.cache_write
