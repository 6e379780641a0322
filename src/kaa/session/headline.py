"""What a message is about, for lists: without the files and long texts that were given with it."""

import re

# As much of a message as any list shows.
_CHARACTERS = 500
# Typed text rarely has more lines; a paste has.
_PASTED_LINES = 10

# How kaa writes attached files into a message (`kaa.shell.attachments`).
_FILE = re.compile(r'<file name="([^"\n]*)">.*?</file>', re.DOTALL)


def headline(text: str, *, has_image: bool = False) -> str:
    """The words of the user, else the names of the files, else that there is an image; empty for an empty message."""
    names = [match[1].rpartition("/")[2] for match in _FILE.finditer(text)]
    said = _FILE.sub("", text).strip() if names else text.strip()
    if not said:
        said = " ".join(f"@{name}" for name in names) or ("(image)" if has_image else "")
    elif said.count("\n") >= _PASTED_LINES:
        said = _around_paste(said)
    return said[:_CHARACTERS]


def _around_paste(text: str) -> str:
    """A line that tells what a long text is about: a question at its end, or else how it begins."""
    lines = [line.strip() for line in text.split("\n")]
    if lines[-1].endswith("?") or not lines[-2]:
        return lines[-1]
    return next((line for line in lines if any(map(str.isalnum, line)) and not line.startswith("```")), lines[0])
