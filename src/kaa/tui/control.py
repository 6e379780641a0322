"""Sequences that say something to the terminal beside the text: titles, progress, zones, links."""

import re
from typing import Literal

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
# Terminals cut longer ones or ignore them.
_LONGEST_TITLE = 200

PUSH_TITLE, POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"

# Zones of FinalTerm's protocol (OSC 133), by which terminals jump from prompt to prompt and select output.
PROMPT_START, INPUT_START, OUTPUT_START = "\x1b]133;A\x1b\\", "\x1b]133;B\x1b\\", "\x1b]133;C\x1b\\"

# The longest that terminals take (VTE, iTerm2); schemes that a click may open.
_LONGEST_URL = 2083
_OPENABLE = re.compile(r"(?:https?|file|mailto|ftp):[\x21-\x7e]+\Z", re.IGNORECASE)


def plain(text: str, longest: int = _LONGEST_TITLE) -> str:
    """Foreign text for the inside of a sequence: one short line without control characters."""
    return _CONTROL.sub(" ", text).strip()[:longest]


def title(text: str) -> str:
    """Set the window's title."""
    return f"\x1b]2;{plain(text)}\x1b\\"


def progress(state: Literal["busy", "error"] | None) -> str:
    """Show progress of unknown length, or that something failed, or nothing (ConEmu's OSC 9;4)."""
    return f"\x1b]9;4;{ {'busy': 3, 'error': 2, None: 0}[state] };0\x1b\\"


def output_end(exit_code: int) -> str:
    """End of the zone that `OUTPUT_START` began."""
    return f"\x1b]133;D;{exit_code}\x1b\\"


def hyperlink(text: str, url: str) -> str:
    """The painted text as a link (OSC 8), or as it is if the address is not one that a click should open.

    Addresses with characters beyond ASCII have to be percent-encoded before.
    """
    if len(url) > _LONGEST_URL or not _OPENABLE.match(url):
        return text
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"
