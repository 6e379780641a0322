"""JSON for other programs. Names of files need not be Unicode; the JSON is."""

import re

import msgspec

_CONTROLS = re.compile("[\x7f-\x9f]")  # what JSON need not escape


def encoded(value: object) -> bytes:
    """The JSON of a value; each byte of a name that is not UTF-8 becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        from kaa.llm.unicode_text import clean_json  # lazy: seldom needed

        return msgspec.json.encode(clean_json(msgspec.to_builtins(value)))


def json_line(value: object) -> str:
    """A line for programs and terminals: characters that a terminal acts on, or that a reader does not see, escaped."""
    from kaa.tui.invisible import replace_invisible  # lazy: the JSON of runs goes to programs

    text = _CONTROLS.sub(lambda one: _escaped(one[0]), encoded(value).decode())
    return f"{replace_invisible(text, _escaped)}\n"


def _escaped(characters: str) -> str:
    units = characters.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
