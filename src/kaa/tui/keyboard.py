"""The names of keys: what terminals send for them, in all the dialects that are in use.

Sources: xterm's control sequences ("PC-Style Function Keys", "VT220-Style Function Keys", modifyOtherKeys), rxvt's and
the Linux console's own forms, and the Kitty keyboard protocol.
"""

from kaa.tui.events import Key, KeyAction

# Bits of the modifier parameter minus one (Kitty protocol, "Modifiers"; xterm has the first three and calls 8 meta).
_SHIFT, _ALT, _CTRL, _SUPER, _HYPER, _META = 1, 2, 4, 8, 16, 32
_PREFIXES = ((_CTRL, "ctrl+"), (_ALT, "alt+"), (_SHIFT, "shift+"), (_SUPER, "super+"))

_ACTIONS: dict[int, KeyAction] = {2: "repeat", 3: "release"}

# CSI … letter and SS3 letter.
_BY_LETTER = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "E": "clear",
    "F": "end",
    "H": "home",
    "P": "f1",
    "Q": "f2",
    "R": "f3",
    "S": "f4",
    "Z": "tab",
}
_RXVT_ARROWS = {"a": "up", "b": "down", "c": "right", "d": "left"}
# The keypad in application mode, after SS3.
_KEYPAD = dict(zip("jklmnopqrstuvwxyX", "*+,-./0123456789=", strict=True))
_LINUX_FUNCTION_KEYS = {"A": "f1", "B": "f2", "C": "f3", "D": "f4", "E": "f5"}
# CSI number ~. The gaps are VT220's: its keyboard had gaps there.
_BY_NUMBER = {
    1: "home",
    2: "insert",
    3: "delete",
    4: "end",
    5: "pageup",
    6: "pagedown",
    7: "home",
    8: "end",
    **{11 + index: f"f{1 + index}" for index in range(5)},
    **{17 + index: f"f{6 + index}" for index in range(5)},
    23: "f11",
    24: "f12",
    25: "f13",
    26: "f14",
    28: "f15",
    29: "menu",
    31: "f17",
    32: "f18",
    33: "f19",
    34: "f20",
}
# What rxvt writes instead of `~` when these modifiers are held.
_RXVT_MODIFIERS = {"^": _CTRL, "$": _SHIFT, "@": _CTRL | _SHIFT}

# Codes of keys without a character ("Functional key definitions" of the Kitty protocol, and the ASCII ones).
_BY_CODE = {
    8: "backspace",
    9: "tab",
    13: "enter",
    27: "escape",
    32: "space",
    127: "backspace",
    57363: "menu",
    **{57376 + index: f"f{13 + index}" for index in range(12)},
    57414: "enter",
    **dict(
        enumerate(
            ("left", "right", "up", "down", "pageup", "pagedown", "home", "end", "insert", "delete", "clear"), 57417
        )
    ),
}
_KEYPAD_CODES = {**dict(enumerate("0123456789./*-+", 57399)), 57415: "=", 57416: ","}
_PRIVATE_USE = range(0xE000, 0xF900)

# Characters beyond Latin Extended-B: of alphabets in which shortcuts go by the place of the key.
_BEYOND_LATIN = 0x250

# Codes that name the shifted character can be told by these, which need shift on most layouts.
_SHIFTED_SYMBOLS = frozenset('~!@#$%^&*()_+{}|:"<>?')


def typed(character: str) -> Key:
    """The key of a character that came as itself."""
    if character == " ":
        return Key("space", " ")
    lower = character.lower()
    return Key(f"shift+{lower}" if lower != character and len(lower) == 1 else character, character)


def control(character: str) -> Key:
    """The key of a C0 control character or DEL; not for escape, which begins sequences."""
    match character:
        case "\r":
            return Key("enter")
        case "\t":
            return Key("tab")
        case "\x7f":
            return Key("backspace")
        case "\x00":
            return Key("ctrl+space")
        case "\x1f":
            return Key("ctrl+-")
    letter = chr(ord(character) + 0x40)
    return Key(f"ctrl+{letter.lower()}")


def with_alt(key: Key) -> Key:
    """The same key with alt, which terminals send as an escape before it."""
    if key.id.startswith("ctrl+"):
        return Key("ctrl+alt+" + key.id.removeprefix("ctrl+"))
    return Key("alt+" + key.id)


def single_shift(parameters: str, letter: str) -> Key | None:
    """The key of an SS3 sequence; some terminals put the modifier before the letter."""
    if letter in _KEYPAD:
        return typed(_KEYPAD[letter])
    if letter == "M":
        return Key("enter")
    if letter in _RXVT_ARROWS:
        return Key("ctrl+" + _RXVT_ARROWS[letter])
    name = _BY_LETTER.get(letter)
    return _key(name, _numbers(parameters.rpartition(";")[2])[0]) if name else None


def linux_function_key(letter: str) -> Key | None:
    """The key of `CSI [ letter`."""
    name = _LINUX_FUNCTION_KEYS.get(letter)
    return Key(name) if name else None


def control_sequence(parameters: str, final: str) -> Key | None:
    """The key of a CSI sequence with numeric parameters; None if it is none, or one that nobody needs."""
    fields = [_numbers(field) for field in parameters.split(";")]
    modifiers, action = _modifiers(fields)
    match final:
        case "u":
            return _kitty_key(fields, modifiers, action)
        case "~" if fields[0][0] == 27 and len(fields) > 2:
            return _coded_key(fields[2][0], modifiers, is_shifted_code=True)
        case "~":
            return _key(_BY_NUMBER.get(fields[0][0]), modifiers, action)
        case "^" | "$" | "@":
            return _key(_BY_NUMBER.get(fields[0][0]), 1 + _RXVT_MODIFIERS[final])
        case "Z":
            return _key("tab", 1 + ((modifiers - 1) | _SHIFT), action)
        case "a" | "b" | "c" | "d":
            return _key(_RXVT_ARROWS[final], 1 + _SHIFT)
    return _key(_BY_LETTER.get(final), modifiers, action)


def _modifier_names(bits: int) -> str:
    """The names of the modifiers, each followed by a plus, in the order of `Key.id`."""
    return "".join(prefix for bit, prefix in _PREFIXES if bits & bit)


def _numbers(field: str) -> list[int]:
    # Numbers of more digits mean nothing to anybody, and Python refuses to convert very long ones.
    return [int(number[:9] or 0) for number in field.split(":")]


def _modifiers(fields: list[list[int]]) -> tuple[int, KeyAction]:
    if len(fields) < 2:
        return 1, "press"
    modifiers, *rest = fields[1]
    return modifiers or 1, _ACTIONS.get(rest[0], "press") if rest else "press"


def _key(name: str | None, modifiers: int, action: KeyAction = "press") -> Key | None:
    bits = _known_modifiers(modifiers)
    return Key(_modifier_names(bits) + name, "", action) if name and bits is not None else None


def _known_modifiers(modifiers: int) -> int | None:
    """Bits of the modifiers, without locks; None for keys with hyper, which have no name here."""
    bits = max(modifiers - 1, 0)
    if bits & _HYPER:
        return None
    if bits & _META:
        bits |= _ALT
    return bits & (_SHIFT | _ALT | _CTRL | _SUPER)


def _kitty_key(fields: list[list[int]], modifiers: int, action: KeyAction) -> Key | None:
    code, shifted, base = (*fields[0], 0, 0)[:3]
    text = "".join(filter(None, map(_character, fields[2]))) if len(fields) > 2 else ""
    return _coded_key(code, modifiers, action, text, shifted, base)


def _coded_key(
    code: int,
    modifiers: int,
    action: KeyAction = "press",
    text: str = "",
    shifted: int = 0,
    base: int = 0,
    *,
    is_shifted_code: bool = False,
) -> Key | None:
    """The key with this code.

    Args:
        code: the character it types without shift, or the number of a key without one.
        modifiers: bits plus one.
        action: what happened to it.
        text: what it types, if the terminal tells.
        shifted: code of what it types with shift, 0 if not told.
        base: code of the key in the same place of a US keyboard, 0 if not told.
        is_shifted_code: whether `code` is that of what it types with shift when shift is held (modifyOtherKeys).
    """
    bits = _known_modifiers(modifiers)
    if bits is None:
        return None
    is_shortcut = bits & ~_SHIFT
    if text and not is_shortcut:
        return (typed(text) if len(text) == 1 else Key(text, text))._replace(action=action)
    if name := _BY_CODE.get(code):
        return Key(_modifier_names(bits) + name, " " if name == "space" and not is_shortcut else "", action)
    if is_shortcut and code >= _BEYOND_LATIN and base:
        code, shifted = base, 0
    character = _KEYPAD_CODES.get(code) or _character(code)
    if not character:
        return None
    lower, upper = character.lower(), character.upper()
    if len(lower) == len(upper) == 1 and lower != upper and _character(shifted) in ("", lower, upper):
        letter = upper if bits & _SHIFT else lower
        return Key(_modifier_names(bits) + lower, "" if is_shortcut else letter, action)
    # A symbol is its own name, whatever keys it takes to type it: layouts and protocols agree on nothing else.
    if bits & _SHIFT and (shifted or is_shifted_code or not is_shortcut or character in _SHIFTED_SYMBOLS):
        character = _character(shifted) or character
        bits &= ~_SHIFT
    return Key(_modifier_names(bits) + character, "" if is_shortcut else character, action)


def _character(code: int) -> str:
    """The printable character with this code, empty if there is none."""
    if code <= 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code in _PRIVATE_USE or code > 0x10FFFF:
        return ""
    return chr(code)
