"""JSON as models' servers send it, also where its text is not proper Unicode, and the cost that it reports.

A server that cuts its reply into tokens can cut a character: an emoji comes as two halves, each in an event of its own,
which no strict decoder reads. Halves that stay alone, and bytes that are not UTF-8, become U+FFFD.

OpenRouter and similar gateways bill by their own routing: https://openrouter.ai/docs/use-cases/usage-accounting
"""

from math import isfinite
from typing import Final, Never, TypeVar

import msgspec

from kaa.core.messages import Cost, Json
from kaa.llm.unicode_text import clean_json

T = TypeVar("T")
_ANY: Final[msgspec.json.Decoder[Json]] = msgspec.json.Decoder()


def decode(decoder: "msgspec.json.Decoder[T]", data: bytes | msgspec.Raw) -> T:
    """Decode `data`. Strings may contain halves of characters: a `DeltaBuffer` puts them together.

    Raises:
        msgspec.DecodeError: it is not valid JSON, or not what the decoder expects.
        UnicodeDecodeError: the same, and it is no UTF-8 either.
        RecursionError: it is nested too deeply.
    """
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        lenient = _lenient(bytes(data))
        if lenient is None:
            raise
    try:
        return msgspec.convert(lenient, decoder.type)
    except msgspec.ValidationError:  # some types keep a part of it undecoded
        return decoder.decode(encode(lenient))


def decode_any(data: bytes | msgspec.Raw) -> Json:
    """Decode `data`, whatever it is; as `decode`, with all halves replaced."""
    return clean_json(decode(_ANY, data))


def encode(value: Json) -> bytes:
    """The JSON of something decoded, with halves of characters put together or replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_json(value))


def _lenient(data: bytes) -> Json:
    """The JSON whose strings are not Unicode; None if that is not what is wrong with it."""
    text = data.decode("utf-8", "replace")
    if "\\u" not in text and "\ufffd" not in text:
        return None
    import json  # lazy: most servers send what can be decoded

    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError:
        return None


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is not valid JSON")


class ReportedCost(msgspec.Struct, frozen=True):
    """The fields of a usage object that are about money. Other servers use the same names for other things.

    Attributes:
        cost: US dollars that the account at the server is charged.
        is_byok: the upstream provider charges the user's own key besides.
    """

    cost: Json = None
    is_byok: Json = None
    cost_details: Json = None

    @property
    def reported(self) -> Cost:
        """The whole cost; nothing where the server does not report it."""
        total = _dollars(self.cost)
        if self.is_byok is True and isinstance(self.cost_details, dict):
            total += _dollars(self.cost_details.get("upstream_inference_cost"))
        return Cost(total=total)


def _dollars(value: Json) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isfinite(value) and value > 0 else 0.0
