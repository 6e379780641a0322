"""What comes from the terminal, decoded: keys, pastes, the mouse, focus, and the terminal's answers."""

from typing import Literal, NamedTuple, TypeAlias

KeyAction = Literal["press", "repeat", "release"]


class Key(NamedTuple):
    """A key.

    Attributes:
        id: its name, modifiers before it, always in the order `ctrl+alt+shift+super+`: `a`, `shift+a` (a typed "A"),
            `ctrl+c`, `alt+enter`, `?`. Names of keys without a character: escape, enter, tab, space, backspace, delete,
            insert, clear, home, end, pageup, pagedown, up, down, left, right, menu, f1 to f24.
        text: what it types, empty if it types nothing.
        action: terminals that speak the Kitty protocol also tell repeats and releases.
    """

    id: str
    text: str = ""
    action: KeyAction = "press"


class Paste(NamedTuple):
    """Text that was pasted, with line feeds as line ends."""

    text: str


class Mouse(NamedTuple):
    """The mouse. Column and row count from 0. `button`: 0 left, 1 middle, 2 right; for the wheel 0 is up, 1 down."""

    kind: Literal["down", "up", "drag", "wheel"]
    button: int
    column: int
    row: int


class Focus(NamedTuple):
    """The terminal's window got or lost the focus."""

    gained: bool


class TerminalReply(NamedTuple):
    """The terminal answers, or tells of a change it was asked to tell.

    Attributes:
        kind: `cursor` (row, column from 0), `background` (red, green, blue, 0 to 255), `dark` and `light` (the user
            switched), `kitty-keyboard` (flags), `attributes` (DA1), `version` (XTVERSION), `cell-size` (pixels:
            height, width), `graphics` (1: it knows the Kitty protocol).
        values: as the kind says.
        text: for `version`.
    """

    kind: str
    values: tuple[int, ...] = ()
    text: str = ""


Input: TypeAlias = Key | Paste
Event: TypeAlias = Key | Paste | Mouse | Focus | TerminalReply
