"""Lines of JSON: written so that encoding never fails, read so that small damage does not cost the line."""

from typing import TypeVar, cast

import msgspec

from kaa.core.messages import Json

Struct = TypeVar("Struct", bound=msgspec.Struct)

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the decoders of msgspec raise for hostile or damaged text."""

# What an extension left in `details` must not cost the entry: unknown objects are written as their text.
_ENCODER = msgspec.json.Encoder(enc_hook=str)


def encode_line(value: msgspec.Struct) -> bytes:
    """One line with its line feed. Unpaired surrogates, which UTF-8 cannot carry, become `?`."""
    try:
        return _ENCODER.encode(value) + b"\n"
    except UnicodeEncodeError:
        return encode_object(msgspec.to_builtins(value, enc_hook=str))


def encode_object(value: dict[str, Json]) -> bytes:
    """Like `encode_line`, for an object of plain JSON values."""
    import json  # only damaged text comes here

    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def lenient_object(line: bytes) -> dict[str, Json] | None:
    """The JSON object of a line, with bytes that are not UTF-8 and unpaired surrogates replaced; else None."""
    import json  # only lines that the fast decoder refused come here

    try:
        value = json.loads(line.decode("utf-8", "replace"))
        if not isinstance(value, dict):
            return None
        return cast("dict[str, Json]", msgspec.json.decode(encode_object(value)))
    except (ValueError, RecursionError):
        return None


def convert_leniently(
    value: dict[str, Json], target: type[Struct], defaults: dict[str, Json] | None = None
) -> Struct | None:
    """Convert an object field by field: what does not fit its type takes its default.

    Args:
        value: a decoded JSON object.
        defaults: for required fields that may be absent, by their JSON name.

    Returns:
        None if a required field is missing, or does not fit and has no default.
    """
    fitting = dict(defaults or {})
    for field in msgspec.structs.fields(target):
        if field.encode_name in value:
            try:
                fitting[field.encode_name] = msgspec.convert(value[field.encode_name], field.type, strict=False)
            except (msgspec.ValidationError, RecursionError):
                continue
    try:
        return msgspec.convert(msgspec.to_builtins(fitting), target)
    except msgspec.ValidationError:
        return None
