"""How long something took, for people."""

_SHOWN_MS = 1000  # less is not worth a word


def shown_duration(milliseconds: int) -> str:
    """`1.2 s`, `2 min 5 s`; empty for less than a second."""
    if milliseconds < _SHOWN_MS:
        return ""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
