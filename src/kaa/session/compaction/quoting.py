r"""Keeps what tools, files and models said from passing for the marks that we put around it.

A backslash takes away their look, and nothing else: `<\/conversation>`, `\[User]:`.
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
