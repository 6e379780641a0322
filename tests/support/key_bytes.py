"""What a terminal sends for keys, pastes and the mouse, in the modes that the program has set."""

from collections.abc import Callable, Collection

_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4, "super": 8}
_EVENT_TYPES, _ALTERNATE_KEYS, _ALL_AS_ESCAPES, _WITH_TEXT = 2, 4, 8, 16
_RELEASE = 3

_CHARACTERS = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "space": " "}
_LETTERS = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_FUNCTIONS = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_NUMBERS = {
    "insert": 2,
    "delete": 3,
    "pageup": 5,
    "pagedown": 6,
    "f5": 15,
    "f6": 17,
    "f7": 18,
    "f8": 19,
    "f9": 20,
    "f10": 21,
    "f11": 23,
    "f12": 24,
}


def key_bytes(key: str, *, kitty: int = 0, modes: Collection[int] = ()) -> bytes:
    """What is sent for a key.

    Args:
        key: as `Key.id` has it, such as `ctrl+shift+p` or `alt+enter`.
        kitty: the flags of the Kitty protocol in force. With event types, the release is sent too.
        modes: the private modes that are set.
    """
    name = "+" if key.endswith("+") else key.rpartition("+")[2]
    bits = sum(_MODIFIERS[modifier] for modifier in key.removesuffix(name).split("+") if modifier)
    if name in _LETTERS or name in _FUNCTIONS:
        return _functional(name, bits, kitty, application_cursor=1 in modes)
    if name in _NUMBERS:
        return _with_release(lambda kind: f"\x1b[{_NUMBERS[name]}{_parameter(bits, kind)}~", kitty)
    character = _CHARACTERS.get(name, name)
    if kitty and _needs_escape(name, bits, kitty):
        return _with_release(lambda kind: _escape(character, bits, kitty, kind), kitty)
    return _plain(character, bits).encode()


def paste_bytes(text: str, modes: Collection[int]) -> bytes:
    """What is sent for a paste; terminals send carriage returns for line ends."""
    body = text.replace("\n", "\r").encode()
    return b"\x1b[200~" + body + b"\x1b[201~" if 2004 in modes else body


def mouse_bytes(button: int, column: int, row: int, *, pressed: bool = True) -> bytes:
    """A button (64 and 65: the wheel) at a cell counted from 0, as SGR has it."""
    return f"\x1b[<{button};{column + 1};{row + 1}{'M' if pressed else 'm'}".encode()


def _functional(name: str, bits: int, kitty: int, *, application_cursor: bool) -> bytes:
    if not bits and not kitty & _EVENT_TYPES and (name in _FUNCTIONS or application_cursor):
        return f"\x1bO{_FUNCTIONS.get(name) or _LETTERS[name]}".encode()
    letter = _FUNCTIONS.get(name) or _LETTERS[name]

    def sequence(kind: int) -> str:
        parameter = _parameter(bits, kind)
        return f"\x1b[{'1' if parameter else ''}{parameter}{letter}"

    return _with_release(sequence, kitty)


def _parameter(bits: int, kind: int) -> str:
    if kind == _RELEASE:
        return f";{bits + 1}:{kind}"
    return f";{bits + 1}" if bits else ""


def _needs_escape(name: str, bits: int, kitty: int) -> bool:
    """Whether flag 1 (disambiguate) already sends an escape sequence for it."""
    if kitty & _ALL_AS_ESCAPES or name == "escape":
        return True
    return bits > _MODIFIERS["shift"] or (bits == _MODIFIERS["shift"] and name in _CHARACTERS and name != "space")


def _escape(character: str, bits: int, kitty: int, kind: int) -> str:
    is_shifted = bits & _MODIFIERS["shift"] and character.isalpha()
    code = f"{ord(character)}:{ord(character.upper())}" if is_shifted and kitty & _ALTERNATE_KEYS else ord(character)
    parameter = _parameter(bits, kind)
    if kitty & _WITH_TEXT and kitty & _ALL_AS_ESCAPES and bits <= 1 and character.isprintable() and kind != _RELEASE:
        return f"\x1b[{code}{parameter or ';'};{ord(character.upper() if is_shifted else character)}u"
    return f"\x1b[{code}{parameter}u"


def _with_release(sequence: Callable[[int], str], kitty: int) -> bytes:
    return (sequence(1) + (sequence(_RELEASE) if kitty & _EVENT_TYPES else "")).encode()


def _plain(character: str, bits: int) -> str:
    """As terminals always did: some combinations are the same as others."""
    if bits & _MODIFIERS["shift"]:
        character = "\x1b[Z" if character == "\t" else character.upper()
    if bits & _MODIFIERS["ctrl"] and len(character) == 1:
        character = {" ": "\0", "\x7f": "\b", "/": "\x1f"}.get(character) or (
            chr(ord(character.upper()) & 0x1F) if "@" <= character.upper() <= "_" else character
        )
    return f"\x1b{character}" if bits & _MODIFIERS["alt"] else character
