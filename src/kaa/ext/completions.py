"""A single call of a model, made by an extension. See `ConversationActions.complete`."""

from collections.abc import Sequence

import msgspec

from kaa.core.messages import Message, Usage
from kaa.core.tool import ToolError
from kaa.ext.errors import CommandError


class CompletionTask(msgspec.Struct, frozen=True):
    """What is asked; the fields are the arguments of `ConversationActions.complete`."""

    messages: Sequence[Message]
    system: str
    model: str | None
    max_tokens: int


class Completion(msgspec.Struct, frozen=True):
    """The answer of a model.

    Attributes:
        text: the answer.
        model: who answered, as `provider/id`.
        usage: the tokens and the cost.
    """

    text: str
    model: str
    usage: Usage


class CompletionError(ToolError, CommandError):
    """The model was not asked, or gave no answer; the message says why. As a tool's error it tells the model why."""
