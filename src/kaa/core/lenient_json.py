"""JSON of other programs, read also where its text is not proper Unicode or where a string has raw line breaks.

Bytes that are not UTF-8 and halves of characters become U+FFFD; NaN and Infinity become null, as JavaScript writes
them. A mark of UTF-8 at the beginning is skipped. Valid JSON is read once, by the strict decoder.
"""

from typing import TypeVar

import msgspec

from kaa.core.messages import Json

KindT = TypeVar("KindT")


def decode_lenient(data: bytes) -> Json:
    """Decode `data`.

    Raises:
        msgspec.DecodeError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    try:
        value: Json = msgspec.json.decode(data)
    except UnicodeDecodeError:
        return _decode_anyhow(data, msgspec.DecodeError("invalid UTF-8"))
    except msgspec.DecodeError as error:
        return _decode_anyhow(data, error)
    return value


def decode_lenient_as(data: bytes | msgspec.Raw, kind: type[KindT]) -> KindT:
    """Decode `data` as `msgspec.json.decode` does with a type.

    Raises:
        msgspec.DecodeError: it is not JSON, or something else.
        RecursionError: it is nested too deeply.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (UnicodeDecodeError, msgspec.DecodeError):
        return msgspec.json.decode(msgspec.json.encode(decode_lenient(bytes(data))), type=kind)


def _decode_anyhow(data: bytes, problem: msgspec.DecodeError) -> Json:
    import json  # lazy: most programs write what can be decoded

    try:
        value = json.loads(data.decode("utf-8-sig", "replace"), strict=False, parse_constant=lambda _: None)
        text = json.dumps(value, ensure_ascii=False)
        whole: Json = msgspec.json.decode(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    except ValueError:
        raise problem from None
    return whole
