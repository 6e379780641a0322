"""Makes foreign text (of models, tools, files) harmless for a terminal."""

import re

# C0 but tab and line feed, DEL, C1, and the bidirectional controls that can make text read other than it is.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def sanitize(text: str) -> str:
    r"""The text with control characters made visible or, where harmless, dropped.

    Carriage returns before line feeds vanish; ESC and the like appear as their escape, such as `\x1b`.
    """
    if not _HARMFUL.search(text):
        return text
    return _HARMFUL.sub(_visible, text.replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
