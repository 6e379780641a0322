"""JSON for other programs. Names of files need not be Unicode; the JSON is."""

import msgspec


def encoded(value: object) -> bytes:
    """The JSON of a value; each byte of a name that is not UTF-8 becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        from kaa.llm.unicode_text import clean_json  # lazy: seldom needed

        return msgspec.json.encode(clean_json(msgspec.to_builtins(value)))
