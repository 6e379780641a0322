"""Long texts cut in the middle, with a marker that says how much is missing."""

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
