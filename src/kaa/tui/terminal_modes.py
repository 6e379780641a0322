"""Modes of the terminal that we switch on, and how all of them are left and entered again."""

# Flags 1 (escape codes that are not ambiguous) and 4 (alternate keys: shortcuts work on layouts that are not Latin) of
# the Kitty keyboard protocol. Not 2: nothing here acts on releases, and reporting them doubles what every key sends.
# Not 8 and 16: text comes as text, which works with every input method.
_KEYBOARD_ON, _KEYBOARD_OFF = "\x1b[>5u", "\x1b[<u"

# Each with what turns it on and off.
_MODES = {
    "bracketed paste": ("\x1b[?2004h", "\x1b[?2004l"),
    "focus": ("\x1b[?1004h", "\x1b[?1004l"),
    "color scheme": ("\x1b[?2031h", "\x1b[?2031l"),
    "keyboard": (_KEYBOARD_ON, _KEYBOARD_OFF),
    # xterm's modifyOtherKeys, which tmux knows too: for terminals that do not know the Kitty protocol.
    "other keys": ("\x1b[>4;2m", "\x1b[>4;0m"),
    "mouse": ("\x1b[?1002h\x1b[?1006h", "\x1b[?1006l\x1b[?1002l"),
    # With the keyboard: terminals keep its flags for each screen.
    "alternate screen": ("\x1b[?1049h" + _KEYBOARD_ON, _KEYBOARD_OFF + "\x1b[?1049l"),
}

# Ends a sequence that was cut off.
END_OF_STRING = "\x1b\\"
# Ends what frames switch on: synchronized output, no wrapping, a hidden cursor, a style.
_SETTLE = "\x1b[?2026l\x1b[?7h\x1b[?25h\x1b[0m"

# Puts right a terminal in which kaa was killed: `printf` it.
RESET_SEQUENCE = END_OF_STRING + _SETTLE + "".join(off for _, off in reversed(_MODES.values()))


class Modes:
    """Which modes are on. Every method returns what to send."""

    def __init__(self) -> None:
        self._on: list[str] = []

    def turn(self, name: str, *, on: bool) -> str:
        """Switch a mode; empty if that is how it is."""
        if (name in self._on) == on:
            return ""
        if on:
            self._on.append(name)
            return _MODES[name][0]
        self._on.remove(name)
        return _MODES[name][1]

    def enter(self) -> str:
        """All that are on, again."""
        return "".join(_MODES[name][0] for name in self._on)

    def leave(self) -> str:
        """Back to how the terminal was, the last one first; they still count as on."""
        return _SETTLE + "".join(_MODES[name][1] for name in reversed(self._on))
