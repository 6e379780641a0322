"""What an edit asks for, and how it is refused: all that is needed of the edit engine before the first edit."""

from typing import Annotated

import msgspec
from msgspec import Meta


class EditError(Exception):
    """An edit cannot be made; the message is for the model and says what to do."""


class Replacement(msgspec.Struct, rename="camel", frozen=True):
    """What to replace with what. `old_text` must be in the file exactly once."""

    old_text: Annotated[str, Meta(description="Exact text, unique in the file")]
    new_text: str
