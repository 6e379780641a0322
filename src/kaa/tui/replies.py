"""What terminals answer to the questions of `kaa.tui.capabilities`, and the mouse and the focus, which they tell of."""

import re

from kaa.tui.events import Event, Focus, Mouse, TerminalReply

# Mode 2031: CSI ? 997 ; 1 n says dark, 2 light.
_COLOR_SCHEMES = {"997;1": "dark", "997;2": "light"}
# X11 colours, one to four hexadecimal digits for each part.
# (Patterns are compiled with the first answer, behind the first frame.)
_X11_COLOR = "(?i)rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?"
_HEX_COLOR = "(?i)#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})"
_NUMBERS = "[0-9]{0,9}(?:;[0-9]{0,9})*"


def control_sequence(body: str, final: str) -> Event | None:
    """The event of a CSI sequence that no key sends; None if it is of no interest.

    Args:
        body: parameters and intermediate characters.
        final: the last character.
    """
    marker, numbers = (body[0], body[1:]) if body[:1] in ("<", "=", ">", "?") else ("", body)
    match marker, final:
        case "<", "M" | "m":
            return _mouse(_integers(numbers), is_release=final == "m")
        case "", "I" | "O":
            return Focus(gained=final == "I")
        case "?", "u":
            return _reply("kitty-keyboard", numbers)
        case "?", "c":
            return _reply("attributes", numbers)
        case "?", "n":
            kind = _COLOR_SCHEMES.get(numbers)
            return TerminalReply(kind) if kind else None
        case "?", "R":
            return cursor_report(numbers)
        case "", "t" if numbers.startswith("6;"):
            return _reply("cell-size", numbers.removeprefix("6;"))
    return None


def cursor_report(numbers: str) -> TerminalReply | None:
    """The position in `row;column`, both from 1."""
    values = _integers(numbers)
    return TerminalReply("cursor", (max(values[0] - 1, 0), max(values[1] - 1, 0))) if len(values) >= 2 else None


def control_string(introducer: str, body: str) -> Event | None:
    """The event of an OSC (`]`), DCS (`P`) or APC (`_`) string; None if it is of no interest."""
    match introducer:
        case "]":
            number, _, color = body.partition(";")
            return _background(color) if number == "11" else None
        case "P" if body.startswith(">|"):
            return TerminalReply("version", text=body.removeprefix(">|"))
        case "_" if body.startswith("G"):
            return TerminalReply("graphics", (int(body.endswith(";OK")),))
    return None


def _reply(kind: str, numbers: str) -> TerminalReply | None:
    return TerminalReply(kind, _integers(numbers)) if re.fullmatch(_NUMBERS, numbers) else None


def _integers(numbers: str) -> tuple[int, ...]:
    return tuple(int(number or 0) for number in numbers.split(";")) if re.fullmatch(_NUMBERS, numbers) else ()


def _background(color: str) -> TerminalReply | None:
    parts = re.fullmatch(_X11_COLOR, color) or re.fullmatch(_HEX_COLOR, color)
    if parts is None:
        return None
    return TerminalReply(
        "background", tuple(round(int(part, 16) * 255 / (16 ** len(part) - 1)) for part in parts.groups())
    )


def _mouse(values: tuple[int, ...], *, is_release: bool) -> Mouse | None:
    """The event of an SGR mouse report (xterm's mode 1006): button and flags, column, row."""
    # 128 and up are further buttons, for which nobody has a use.
    if len(values) != 3 or values[0] >= 128:
        return None
    code, column, row = values[0], max(values[1] - 1, 0), max(values[2] - 1, 0)
    button = code & 3  # 4, 8 and 16 are shift, alt and ctrl
    if code & 64:
        # 2 and 3 are left and right: nothing here goes there.
        return Mouse("wheel", button, column, row) if button < 2 else None
    if code & 32:
        # Without a button it was moved only, which is not asked for.
        return Mouse("drag", button, column, row) if button < 3 else None
    return Mouse("up" if is_release else "down", button, column, row)
