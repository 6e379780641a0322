"""Output meant for a terminal as plain text: what a reader would have seen in the end, without colours."""

import re

# Patterns, not compiled: what prints nothing needs none.
_ESCAPE_SEQUENCE = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor movements (ECMA-48 5.4)
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # strings: titles, links, device control
    r"|\x1b[ -/]*[0-~]?"  # all others
)
_OVERSTRUCK = r"[^\n\x08]\x08"
_CONTROL_CHARACTER = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


def plain_text(text: str) -> str:
    """Text without escape sequences and control characters, line endings as line feeds.

    Of a line that was overwritten with carriage returns, as progress bars do, only the last state remains.
    Line feeds are neither added nor removed.
    """
    if "\x1b" in text:
        text = re.sub(_ESCAPE_SEQUENCE, "", text)
    if "\x08" in text:
        text = re.sub(_OVERSTRUCK, "", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return re.sub(_CONTROL_CHARACTER, "", text)
