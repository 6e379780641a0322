"""The parts of a request body that a model is given, whatever the wire format, with their exact bytes."""

import msgspec

from kaa.core.messages import Json


class RequestBody(msgspec.Struct, frozen=True):
    """A body of Chat Completions, Messages or Responses.

    Attributes:
        messages: of the first two; the system prompt is the first of them in Chat Completions.
        input: the messages of Responses.
    """

    tools: msgspec.Raw = msgspec.Raw(b"[]")
    system: msgspec.Raw = msgspec.Raw(b"null")
    instructions: msgspec.Raw = msgspec.Raw(b"null")
    messages: tuple[msgspec.Raw, ...] = ()
    input: tuple[msgspec.Raw, ...] = ()

    @property
    def head(self) -> tuple[bytes, ...]:
        """What stands before the messages in the model's context."""
        return tuple(_without_cache_marks(part) for part in (self.tools, self.system, self.instructions))

    @property
    def conversation(self) -> tuple[bytes, ...]:
        """Message after message."""
        return (*map(_without_cache_marks, self.messages), *map(_without_id, self.input))

    @property
    def tokens(self) -> float:
        """An estimate for all that the model is given: four characters a token, of texts and of the tools' JSON."""
        prompts = (self.system, self.instructions, *self.messages, *self.input)
        return (len(bytes(self.tools).decode()) + sum(_characters(msgspec.json.decode(part)) for part in prompts)) / 4


def parse(body: bytes) -> RequestBody:
    """Take a body apart."""
    return msgspec.json.decode(body, type=RequestBody)


def _without_cache_marks(part: msgspec.Raw) -> bytes:
    """The part as it was sent, but for Anthropic's cache breakpoints, which move on without changing the prefix."""
    data = bytes(part)
    return msgspec.json.encode(_unmarked(msgspec.json.decode(data))) if b'"cache_control"' in data else data


def _without_id(item: msgspec.Raw) -> bytes:
    """An item of Responses without its id, which names it for the server and is not shown to the model."""
    fields = msgspec.json.decode(item, type=dict[str, msgspec.Raw])
    fields.pop("id", None)
    return msgspec.json.encode(fields)


def _unmarked(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def _characters(value: Json) -> int:
    """The length of all texts in a message."""
    match value:
        case str():
            return len(value)
        case list():
            return sum(map(_characters, value))
        case dict():
            return sum(_characters(item) for key, item in value.items() if key not in ("role", "type"))
        case _:
            return 0
