"""A keyboard for components: the toolkit's own bindings, and keys as a decoder gives them."""

from collections.abc import Mapping, Sequence

from kaa.tui.component import Component
from kaa.tui.context import Context
from kaa.tui.events import Key
from kaa.tui.keybindings import TOOLKIT
from kaa.tui.keymap import Keymap
from tests.support.painted import make_context

_NAMES = {" ": "space", "\n": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace"}
_TYPE_NOTHING = "\n\t\x1b\x7f"


def keyboard_context(
    more: Mapping[str, Sequence[str]] | None = None, *, columns: int = 80, rows: int = 24, ascii_only: bool = False
) -> Context:
    """A context in which the toolkit's actions have their default keys, and others the given ones."""
    context = make_context(ascii_only=ascii_only, columns=columns)
    defaults = {action.id: action.keys for group in TOOLKIT for action in group.actions}
    context.keymap.replace(Keymap(defaults | dict(more or {})))
    context.size.rows = rows
    return context


def keys(*ids: str) -> list[Key]:
    """Key presses; a single character types itself."""
    return [Key("space", " ") if id_ == "space" else Key(id_, id_ if len(id_) == 1 else "") for id_ in ids]


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
