"""Reads JSON that strangers wrote: bounded, and with texts that can be shown."""

import msgspec

from kaa.core.messages import Json

MAX_BYTES = 1024 * 1024
MAX_NAME = 64
_MAX_TEXT = 4096  # characters of a description


class InvalidJsonError(ValueError):
    """A file is no object of JSON; the message is the end of a sentence."""


def object_in(data: bytes) -> dict[str, Json]:
    """The object in a file.

    Raises:
        InvalidJsonError: it is no JSON, no object, or too large.
    """
    if len(data) > MAX_BYTES:
        raise InvalidJsonError(f"it is larger than {MAX_BYTES // 1024} KiB")
    try:
        content = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise InvalidJsonError(f"it is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidJsonError("it is not a JSON object")
    return content


def line_of(value: object, most: int = _MAX_TEXT) -> str:
    """A value as one line of text without control characters; empty if it is no text."""
    if not isinstance(value, str):
        return ""
    return "".join(one for one in " ".join(value[: most * 2].split()) if one.isprintable())[:most]


def quoted(value: object) -> str:
    """A value of a stranger's, short enough for a message."""
    return f"`{line_of(value if isinstance(value, str) else repr(value)[:80], 80)}`"


def texts_of(value: object) -> list[str]:
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, str)]


def mapping_of(value: object) -> dict[str, Json]:
    """An object; empty if it is none."""
    return value if isinstance(value, dict) else {}
