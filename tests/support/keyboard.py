"""A keyboard for components: the toolkit's own bindings, and keys as a decoder gives them."""

from kaa.tui.component import Component
from kaa.tui.context import ASCII, Context, Size
from kaa.tui.events import Key
from kaa.tui.keybindings import TOOLKIT
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme
from tests.support.painted import STYLES

_NAMES = {" ": "space", "\n": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace"}
_TYPE_NOTHING = "\n\t\x1b\x7f"


def default_keymap() -> Keymap:
    """What keys do in the toolkit unless somebody says otherwise."""
    return Keymap({action.id: action.keys for group in TOOLKIT for action in group.actions})


def keyboard_context(*, columns: int = 80, rows: int = 24, ascii_only: bool = False) -> Context:
    """A context with few colours and all keys."""
    palette = Palette(Theme("test", STYLES))
    return Context(palette, default_keymap(), Size(columns, rows), ASCII if ascii_only else None)


def press(component: Component, *keys: str) -> bool:
    """Press keys, by their ids. Whether the last one was taken."""
    taken = False
    for key in keys:
        taken = component.key(Key(key))
    return taken


def type_text(component: Component, text: str) -> None:
    """Type characters; a line feed is the enter key, an ESC the escape key, a DEL the backspace key."""
    for character in text:
        name = _NAMES.get(character) or (f"shift+{character.lower()}" if character.isupper() else character)
        component.key(Key(name, "" if character in _TYPE_NOTHING else character))
