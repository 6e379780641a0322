"""What servers ask of those who use them: one interface for the requests of legacy servers and modern input rounds."""

from pathlib import PurePosixPath
from typing import Literal, TypeAlias

import msgspec

from kaa.core.forms import Field
from kaa.core.messages import Json
from kaa.mcp.contents import PromptMessage


class FormRequest(msgspec.Struct, frozen=True):
    """A server asks the person for values (elicitation, form mode)."""

    message: str
    fields: tuple[Field, ...]


class UrlRequest(msgspec.Struct, frozen=True):
    """A server asks the person to open an address (elicitation, URL mode)."""

    message: str
    url: str


class ElicitAnswer(msgspec.Struct, frozen=True):
    """The answer. `values` only if the person accepted a form. `reason` is for the model, and never sent."""

    action: Literal["accept", "decline", "cancel"]
    values: dict[str, Json] = {}
    reason: str = ""


class SamplingRequest(msgspec.Struct, frozen=True):
    """A legacy server asks for a completion by the user's model."""

    messages: tuple[PromptMessage, ...]
    system: str = ""
    max_tokens: int = 0


class SamplingAnswer(msgspec.Struct, frozen=True):
    """What the model answered."""

    text: str
    model: str


class Root(msgspec.Struct, frozen=True):
    """A directory that the server may see as its workspace."""

    uri: str
    name: str = ""


class RefusedError(Exception):
    """A request of a server is refused; the message says why, and is sent to the server."""


Elicitation: TypeAlias = FormRequest | UrlRequest


class ServerQuestions:
    """Answers what a server asks while it works: here outside of calls, when nobody is asked.

    Args:
        project: the directory that the server may see; empty for none.
    """

    def __init__(self, project: str = "", *, samples: bool = False) -> None:
        self._project = project
        self._samples = samples

    @property
    def forms(self) -> bool:
        """Whether anybody can answer elicitations; False is announced to the server as a missing capability."""
        return True

    @property
    def samples(self) -> bool:
        """Whether completions can be asked for."""
        return self._samples

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        return ElicitAnswer("cancel")

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        """Ask a model.

        Raises:
            RefusedError: it may not, or the model failed.
        """
        raise RefusedError("no call is running")

    def roots(self) -> tuple[Root, ...]:
        """The directories that the server may see; empty for none."""
        path = PurePosixPath(self._project)
        return (Root(path.as_uri(), path.name),) if self._project else ()
