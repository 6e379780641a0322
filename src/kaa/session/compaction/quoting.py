r"""Text of tools, files and models in a summarizing request: escaped marks, and long texts cut in the middle.

A backslash escapes what looks like a mark of ours, and changes nothing else: `<\/conversation>`, `\[User]:`.
"""

import re

LABELS = (
    "User",
    "Assistant",
    "Assistant thinking",
    "Assistant tool calls",
    "Tool result",
    "Tool result, an error",
    "Command of the user's",
    "Summary of another branch",
    "Summary of what was before",
    "Note",
)
_LABEL = re.compile(rf"^([ \t]*)(?=\[(?:{'|'.join(LABELS)})\][ \t]{{0,8}}:)", re.IGNORECASE | re.MULTILINE)


def _tags(names: str) -> re.Pattern[str]:
    """Where a tag begins. How much space is looked through is limited, so that searching costs what is long."""
    return re.compile(rf"<(?=[\s/]{{0,8}}(?:{names})\b)", re.IGNORECASE)


_RECORD_TAG = _tags("conversation|previous-summary")
_SECTION_TAG = _tags("user-messages|carried|read-files|modified-files")


def in_record(text: str) -> str:
    """`text` as a part of a conversation that is told to a model: nobody else begins to speak in it."""
    return _RECORD_TAG.sub(r"<\\", _LABEL.sub(r"\1\\", text))


def in_summary(text: str) -> str:
    """`text` as a part of a summary: it does not pretend to be one of its sections."""
    return _SECTION_TAG.sub(r"<\\", text)


# What is said last in an output says more often how it went; what is said first, what it is.
_HEAD_SHARE = 0.6
# About what the marker takes: cutting less out would make the text longer.
_MARKER_CHARACTERS = 40


def shortened(text: str, limit: int) -> str:
    """`text` with at most about `limit` characters of it: its beginning and its end."""
    if len(text) <= limit + _MARKER_CHARACTERS:
        return text
    head = int(limit * _HEAD_SHARE)
    tail = limit - head
    left_out = f"[… {len(text) - limit:,} characters left out …]"
    return f"{text[:head]}\n{left_out}\n{text[len(text) - tail :] if tail else ''}".rstrip("\n")
