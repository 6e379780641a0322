"""What the model server of the tests is to answer: replies, refusals, and streams that go wrong.

Everything is plain data, so that a benchmark can hand a script to a server in another process as JSON.
"""

from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import Json


class Call(msgspec.Struct, frozen=True):
    """A tool call. `arguments` is the text sent, valid JSON or not; an empty `id` is made up.

    Attributes:
        namespace: of the tool, which only Responses has.
    """

    name: str
    arguments: str = "{}"
    id: str = ""
    namespace: str = ""


class Tokens(msgspec.Struct, frozen=True):
    """Usage. `prompt` includes `cached`, as OpenAI counts; Anthropic's numbers are derived.

    Attributes:
        cost: US dollars, as OpenRouter reports them in its three formats; None reports none.
    """

    prompt: int = 100
    cached: int = 0
    output: int = 10
    cost: float | None = None


class Fault(msgspec.Struct, frozen=True):
    """What goes wrong inside a stream.

    Attributes:
        kind: `reset`: the connection is reset. `early_end`: the body ends well-formed, but before the reply does.
            `malformed`: an event that is not valid JSON, and the stream goes on. `error`: the server's own error event,
            and the stream ends. `stall`: nothing comes until `ModelServer.release`, then the stream goes on.
        after: how many deltas (of text, reasoning or arguments) are sent before it.
    """

    kind: Literal["reset", "early_end", "malformed", "error", "stall"]
    after: int = 1


class Answer(msgspec.Struct, tag="answer", frozen=True):
    """A streamed reply: reasoning, then text, then tool calls.

    Attributes:
        text: the deltas.
        thinking: the deltas.
        stop: `tool_use` if there are calls, else `end`, unless given.
        piece_bytes: cut the body into pieces of this size, whatever the events are; 0 sends one piece per event.
    """

    text: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    usage: Tokens | None = Tokens()
    stop: Literal["end", "length", "tool_use"] | None = None
    fault: Fault | None = None
    piece_bytes: int = 0

    @property
    def stop_kind(self) -> Literal["end", "length", "tool_use"]:
        """Why the reply stops."""
        return self.stop or ("tool_use" if self.calls else "end")


class Refusal(msgspec.Struct, tag="refusal", frozen=True):
    """An error in place of a stream.

    Attributes:
        body: sent as it is; None sends what the vendor would for this status.
        overflow: the conversation is too long for the model: each vendor has its own words for it.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    overflow: bool = False


ScriptItem: TypeAlias = Answer | Refusal


def say(*text: str) -> Answer:
    """A reply of these deltas of text."""
    return Answer(text=text)


def call(name: str, /, **arguments: Json) -> Answer:
    """A reply that calls one tool."""
    return Answer(calls=(Call(name, msgspec.json.encode(arguments).decode()),))


CONTEXT_OVERFLOW = Refusal(400, overflow=True)
WRONG_KEY = Refusal(401)
SERVER_ERROR = Refusal(500)
OVERLOADED = Refusal(529)


def rate_limited(retry_after: str = "0") -> Refusal:
    """429 with a Retry-After header."""
    return Refusal(429, headers=(("Retry-After", retry_after),))
