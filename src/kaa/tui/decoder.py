"""Turns the bytes a terminal sends into events. Knows nothing of files and clocks.

The result does not depend on how the bytes are cut into reads, with two exceptions that lie in the matter: silence
after an escape makes it the key (`flush`), and many characters in one read were pasted, not typed.
"""

import codecs
import re
from collections.abc import Callable

from kaa.tui import keyboard
from kaa.tui.events import Event, Focus, Key, Mouse, Paste, TerminalReply

_TEXT = re.compile("[^\x00-\x1f\x7f-\x9f]+")
_PARAMETERS = re.compile("[0-?]*")
_STRING = re.compile("[^\x00-\x1f]*")
_PASTE_END = "\x1b[201~"

# Nobody types as fast: a terminal without bracketed paste was pasted into.
_UNBRACKETED_PASTE = 64
# Longer ones are no answers to our questions. Bounds what is kept of a sequence that does not end.
_LONGEST_SEQUENCE = 128
_LONGEST_STRING = 4096

# How the strings begin that terminals send. Anything else after the introducer means that it was a key with alt.
_STRING_BEGINNINGS = {"]": "0123456789", "P": "0123456789>!", "_": "G"}

# Compiled with the first paste, behind the first frame.
_PASTE_MARKERS = "\x1b\\[20[01]~"
_NOT_PASTED = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"


class InputDecoder:
    """A machine whose state is the method that takes the next characters.

    Text of a paste is quarantined in one more way: what comes right behind its end, without a pause, is not taken for
    keys. If another end comes, the first one was part of the pasted text, which some terminals let through, and all
    before the other one is pasted text too. So a clipboard cannot type.

    Args:
        erase: what the terminal's backspace key sends, as its settings (`VERASE`) say.
    """

    def __init__(self, erase: str = "\x7f") -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._erase = erase
        self._state: Callable[[str, int], int] = self._ground
        self._events: list[Event] = []
        self._cursor_reports = 0
        self._reset()

    def _reset(self) -> None:
        self._state = self._ground
        # Whether the sequence has two escapes in front; what is between introducer and end of it.
        self._is_doubled = False
        self._body = ""
        self._introducer = ""
        self._skip = 0
        # The pasted text so far, its last characters, and whether an end has been seen.
        self._pasted: list[str] = []
        self._tail = ""
        self._is_paste_closed = False

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""
        return self._run(self._utf8.decode(data))

    def flush(self) -> list[Event]:
        """The events that a pause completes: escape, and keys with alt that begin like sequences."""
        if not self.pending:
            return []
        if self._state == self._paste:
            held = "".join(self._pasted)
            self._reset()
            return self._run(held)
        if self._state == self._escape:
            self._events += [Key("escape")] * (2 if self._is_doubled else 1)
        else:
            self._was_a_key()
        self._reset()
        return self._taken()

    @property
    def pending(self) -> bool:
        """Whether a pause would mean something: call `flush` after it."""
        if self._state == self._escape:
            return True
        if self._state == self._paste:
            return self._is_paste_closed
        return self._state in (self._control_sequence, self._single_shift, self._string) and not self._body

    def expect_cursor_report(self) -> None:
        """The terminal was asked where its cursor is. Unasked, the same sequence is a function key."""
        self._cursor_reports += 1

    def _run(self, text: str) -> list[Event]:
        position = 0
        while position < len(text):
            position = self._state(text, position)
        return self._taken()

    def _taken(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    # Each state takes characters of `text` from `position` on and returns the position of the first it did not take.

    def _ground(self, text: str, position: int) -> int:
        if run := _TEXT.match(text, position):
            characters = run[0]
            if len(characters) >= _UNBRACKETED_PASTE:
                self._events.append(Paste(characters))
            else:
                self._events += map(keyboard.typed, characters)
            return run.end()
        character = text[position]
        if character == "\x1b":
            self._state = self._escape
        elif character < "\x80":
            self._events.append(self._control(character))
        return position + 1

    def _control(self, character: str) -> Key:
        return Key("backspace") if character == self._erase else keyboard.control(character)

    def _escape(self, text: str, position: int) -> int:
        match text[position]:
            case "\x1b":
                if self._is_doubled:
                    self._events.append(Key("escape"))
                self._is_doubled = True
            case "[":
                self._begin(self._control_sequence, "[")
            case "O":
                self._begin(self._single_shift, "O")
            case "]" | "P" | "_" as introducer:
                self._begin(self._string, introducer)
            case character:
                if self._is_doubled:
                    self._events.append(Key("escape"))
                if character < "\x20" or character == "\x7f":
                    self._events.append(keyboard.with_alt(self._control(character)))
                elif not "\x80" <= character < "\xa0":
                    self._events.append(keyboard.with_alt(keyboard.typed(character)))
                self._reset()
        return position + 1

    def _begin(self, state: Callable[[str, int], int], introducer: str) -> None:
        self._state = state
        self._introducer = introducer

    def _was_a_key(self) -> None:
        """What began like a sequence was a key with alt."""
        if self._is_doubled:
            self._events.append(Key("escape"))
        self._events.append(keyboard.with_alt(keyboard.typed(self._introducer)))

    def _control_sequence(self, text: str, position: int) -> int:
        run = _PARAMETERS.match(text, position)
        position = run.end() if run else position
        self._body = (self._body + text[run.start() : position] if run else self._body)[:_LONGEST_SEQUENCE]
        if position == len(text):
            return position
        character = text[position]
        if character == "$" and self._body.isdecimal():  # rxvt: nothing follows
            self._end_control_sequence(character)
        elif " " <= character <= "/":
            self._body += character
        elif character == "[" and not self._body:
            self._state = self._linux_function_key
        elif character == "M" and not self._body:
            # A mouse report in the form of 1985, from a terminal that does not know SGR's.
            self._skip = 3
            self._state = self._skipped
        elif "@" <= character <= "~":
            self._end_control_sequence(character)
        else:
            self._reset()
            return position
        return position + 1

    def _end_control_sequence(self, final: str) -> None:
        body, is_doubled = self._body, self._is_doubled
        self._reset()
        if final == "~" and body in ("200", "201"):
            if is_doubled:
                self._events.append(Key("escape"))
            if body == "200":
                self._state = self._paste
        elif final == "R" and self._cursor_reports and ";" in body and body[0] != "?":
            self._cursor_reports -= 1
            self._emit(_cursor_report(body), is_doubled=is_doubled)
        elif body.strip("0123456789;:"):
            self._emit(_control_sequence(body, final), is_doubled=is_doubled)
        elif event := _control_sequence(body, final):
            self._emit(event, is_doubled=is_doubled)
        elif final != "R" or body.partition(";")[0] in ("", "1"):
            self._emit(keyboard.control_sequence(body, final), is_doubled=is_doubled)

    def _emit(self, event: Event | None, *, is_doubled: bool) -> None:
        """The event of a whole sequence. Old terminals put an escape before keys that are pressed with alt."""
        if is_doubled and isinstance(event, Key) and "+" not in event.id and not event.text:
            self._events.append(keyboard.with_alt(event))
            return
        if is_doubled:
            self._events.append(Key("escape"))
        if event is not None:
            self._events.append(event)

    def _linux_function_key(self, text: str, position: int) -> int:
        is_doubled = self._is_doubled
        self._reset()
        self._emit(keyboard.linux_function_key(text[position]), is_doubled=is_doubled)
        return position + 1

    def _skipped(self, text: str, position: int) -> int:
        taken = min(self._skip, len(text) - position)
        self._skip -= taken
        if not self._skip:
            self._reset()
        return position + taken

    def _single_shift(self, text: str, position: int) -> int:
        character = text[position]
        if character in "0123456789;" and len(self._body) < _LONGEST_SEQUENCE:
            self._body += character
            return position + 1
        body, is_doubled = self._body, self._is_doubled
        if character.isascii() and character.isalpha():
            self._reset()
            self._emit(keyboard.single_shift(body, character), is_doubled=is_doubled)
            return position + 1
        self._was_a_key()
        self._reset()
        return position

    def _string(self, text: str, position: int) -> int:
        character = text[position]
        if not self._body and character not in _STRING_BEGINNINGS[self._introducer]:
            self._was_a_key()
            self._reset()
            return position
        if run := _STRING.match(text, position):
            self._body = (self._body + run[0])[:_LONGEST_STRING]
            position = run.end()
        if position == len(text):
            return position
        match text[position]:
            case "\x07":
                self._end_string()
            case "\x1b":
                self._state = self._string_escape
            case _:
                self._reset()
                return position
        return position + 1

    def _string_escape(self, text: str, position: int) -> int:
        if text[position] == "\\":
            self._end_string()
            return position + 1
        self._reset()
        self._state = self._escape
        return position

    def _end_string(self) -> None:
        event = _control_string(self._introducer, self._body)
        is_doubled = self._is_doubled
        self._reset()
        self._emit(event, is_doubled=is_doubled)

    def _paste(self, text: str, position: int) -> int:
        piece = text[position:]
        self._pasted.append(piece)
        # Searched are this piece and as much before it as an end marker may have begun with: nothing is read twice.
        window = self._tail + piece
        end = window.find(_PASTE_END)
        if end < 0:
            self._tail = window[1 - len(_PASTE_END) :]
            return len(text)
        whole = "".join(self._pasted)
        self._events.append(Paste(_pasted_text(whole[: len(whole) - len(window) + end])))
        behind = len(window) - end - len(_PASTE_END)
        self._pasted, self._tail, self._is_paste_closed = [], "", True
        return len(text) - behind


def _pasted_text(text: str) -> str:
    """The text with line feeds as line ends, without other control characters and without markers of a paste."""
    text = re.sub(_PASTE_MARKERS, "", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(_NOT_PASTED, "", text)


# The answers of terminals to the questions of `kaa.tui.capabilities`, and their reports of the mouse and the focus.

# Mode 2031: CSI ? 997 ; 1 n says dark, 2 light.
_COLOR_SCHEMES = {"997;1": "dark", "997;2": "light"}
# X11 colours, one to four hexadecimal digits for each part.
# (Patterns are compiled with the first answer, behind the first frame.)
_X11_COLOR = "(?i)rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?"
_HEX_COLOR = "(?i)#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})"
_NUMBERS = "[0-9]{0,9}(?:;[0-9]{0,9})*"


def _control_sequence(body: str, final: str) -> Event | None:
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
            return _cursor_report(numbers)
        case "", "t" if numbers.startswith("6;"):
            return _reply("cell-size", numbers.removeprefix("6;"))
    return None


def _cursor_report(numbers: str) -> TerminalReply | None:
    """The position in `row;column`, both from 1."""
    values = _integers(numbers)
    return TerminalReply("cursor", (max(values[0] - 1, 0), max(values[1] - 1, 0))) if len(values) >= 2 else None


def _control_string(introducer: str, body: str) -> Event | None:
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
