"""What tests of lists need: a context with the toolkit's keys."""

from collections.abc import Mapping, Sequence

from kaa.tui.context import Context
from kaa.tui.events import Key
from kaa.tui.keybindings import TOOLKIT
from kaa.tui.keymap import Keymap
from tests.support.painted import make_context


def list_context(
    more: Mapping[str, Sequence[str]] | None = None, *, rows: int = 40, ascii_only: bool = False
) -> Context:
    """A context in which the toolkit's actions have their default keys, and others the given ones."""
    context = make_context(ascii_only=ascii_only)
    defaults = {action.id: action.keys for group in TOOLKIT for action in group.actions}
    context.keymap.replace(Keymap(defaults | dict(more or {})))
    context.size.rows = rows
    return context


def keys(*ids: str) -> list[Key]:
    """Key presses; a single character types itself."""
    return [Key("space", " ") if id_ == "space" else Key(id_, id_ if len(id_) == 1 else "") for id_ in ids]
