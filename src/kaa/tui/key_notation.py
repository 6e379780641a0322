"""Keys as people write and read them: `shift+ctrl+P` in files, `Ctrl+Shift+P` on the screen.

*Stage 1*: loaded before the first frame.
"""

_MODIFIERS = ("ctrl", "alt", "shift", "super")  # in the order of `Key.id`
_MODIFIER_ALIASES = {
    "control": "ctrl",
    "option": "alt",
    "opt": "alt",
    "meta": "alt",
    "cmd": "super",
    "command": "super",
    "win": "super",
}
_NAMED = frozenset(
    (
        "escape enter tab space backspace delete insert clear home end pageup pagedown up down left right menu "
        + " ".join(f"f{number}" for number in range(1, 25))
    ).split()
)
_KEY_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "plus": "+",
    "minus": "-",
}
_SHOWN = {"escape": "Esc", "pageup": "PageUp", "pagedown": "PageDown"}

# What a terminal without extended keys sends for ctrl with a symbol (ECMA-48 C0); the others it cannot tell.
_CONTROL_SYMBOLS = frozenset("]\\-^_@/")
# Keys that send the same with ctrl or shift as without, and letters that with ctrl are such keys.
_UNMODIFIED = frozenset({"escape", "enter", "tab", "space", "backspace"})
_CONTROL_KEYS = frozenset("im[")  # tab, enter, escape


class KeyNotationError(ValueError):
    """This is no key; the message says what is wrong with it."""


def parse_key(text: str) -> str:
    """The key as `Key.id` names it; modifiers may come in any order, in upper or lower case.

    Raises:
        KeyNotationError: it is not a key.
    """
    if text == " ":
        return "space"
    key, modifiers = _split(text)
    key = _KEY_ALIASES.get(key, key)
    if key not in _NAMED and not (len(key) == 1 and key.isprintable() and not key.isspace()):
        raise KeyNotationError(
            f"{_quoted(text)} is not a key: there is no key called {_quoted(key)}" if key else _no_key(text)
        )
    return "+".join([*(modifier for modifier in _MODIFIERS if modifier in modifiers), key])


def _split(text: str) -> tuple[str, set[str]]:
    """The key and its modifiers, as written but for their case; the key itself may be a plus."""
    compact = "".join(text.split())
    if compact == "+" or compact.endswith("++"):
        before, key = compact[:-2], "+"
    else:
        before, _, key = compact.rpartition("+")
    modifiers = set()
    for name in before.lower().split("+") if before else ():
        modifier = _MODIFIER_ALIASES.get(name, name)
        if modifier not in _MODIFIERS:
            raise KeyNotationError(
                f"{_quoted(text)} is not a key: {_quoted(name)} is not one of {', '.join(_MODIFIERS)}"
            )
        if modifier in modifiers:
            raise KeyNotationError(f"{_quoted(text)} is not a key: it has {modifier} twice")
        modifiers.add(modifier)
    return _lower(key), modifiers


def _lower(key: str) -> str:
    """In lower case, unless that would take more than one character (as for a Turkish İ)."""
    lower = key.lower()
    return lower if len(key) > 1 or len(lower) == 1 else key


def _no_key(text: str) -> str:
    return (
        f"{_quoted(text)} is not a key: no key follows its modifiers" if text.strip() else "an empty text is not a key"
    )


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


def show_key(key: str) -> str:
    """The key as it is shown: `Ctrl+Shift+P`."""
    modifiers, name = _parts(key)
    shown = name if not modifiers and len(name) == 1 else _SHOWN.get(name, name.capitalize())
    return "+".join([*(modifier.capitalize() for modifier in modifiers), shown])


def needs_extended_keys(key: str) -> bool:
    """Whether terminals without an extended keyboard protocol (Kitty's, xterm's modifyOtherKeys) cannot send the key.

    They send bytes from the age of teletypes, in which Ctrl+Shift+P is Ctrl+P, and Shift+Enter is Enter.
    """
    modifiers, name = _parts(key)
    held = frozenset(modifiers)
    if "super" in held or name == "menu":
        return True
    if name in _UNMODIFIED:
        return not held <= _sendable(name)
    if len(name) > 1:
        return False
    if "ctrl" not in held:
        return False
    return "shift" in held or name in _CONTROL_KEYS or not (name in _CONTROL_SYMBOLS or _is_ascii_letter(name))


def _sendable(name: str) -> frozenset[str]:
    """The modifiers that old terminals tell for these keys: Alt is an ESC before, Shift+Tab has a sequence."""
    return frozenset({"tab": ("alt", "shift"), "space": ("alt", "ctrl")}.get(name, ("alt",)))


def _is_ascii_letter(name: str) -> bool:
    return name.isascii() and name.isalpha()


def _parts(key: str) -> tuple[list[str], str]:
    """The modifiers of a `Key.id`, and the key's own name, which may be a plus."""
    if key.endswith("+"):
        return [part for part in key[:-1].split("+") if part], "+"
    *modifiers, name = key.split("+")
    return modifiers, name
