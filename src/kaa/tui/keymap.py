"""Which keys do what: actions by id, each with the keys that trigger it."""

from collections.abc import Mapping, Sequence

from kaa.tui.events import Input, Key


class Keymap:
    """The bindings in force.

    Args:
        bindings: for each action's id (`tui.editor.undo`) the ids of its keys, as `Key.id` has them.
    """

    def __init__(self, bindings: Mapping[str, Sequence[str]]) -> None:
        self._keys = {action: tuple(keys) for action, keys in bindings.items()}
        self._triggers = {action: frozenset(keys) for action, keys in self._keys.items()}

    def matches(self, key: Input, action: str) -> bool:
        """Whether `key` triggers `action`. Releases trigger nothing."""
        return isinstance(key, Key) and key.action != "release" and key.id in self._triggers.get(action, ())

    def first(self, key: Input, *actions: str) -> str | None:
        """The first of `actions` that `key` triggers."""
        return next((action for action in actions if self.matches(key, action)), None)

    def keys(self, action: str) -> tuple[str, ...]:
        """The keys of `action`, to be shown; empty if it is not bound."""
        return self._keys.get(action, ())

    def extended(self, keys: Mapping[str, Sequence[str]]) -> "Keymap":
        """These bindings as they are now, with more keys for some actions."""
        return Keymap({**self._keys, **{action: (*self.keys(action), *more) for action, more in keys.items()}})

    def replace(self, other: "Keymap") -> None:
        """Put other bindings in force, for all who hold this keymap."""
        self._keys, self._triggers = other._keys, other._triggers
