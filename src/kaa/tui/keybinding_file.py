"""Lays a user's keybinding file over the default keys. The format is pi's: `{"<action>": "key" or ["key", …]}`.

What is given replaces the default keys of that action; an empty list leaves it without. A key that the user gives to
one action is taken from others that have it by default in the same place. *Stage 1*: loaded before the first frame.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kaa.tui.key_notation import KeyNotationError, parse_key, show_key
from kaa.tui.keybindings import ActionGroup

Keys = tuple[str, ...]


class Bindings(NamedTuple):
    """The keys in force.

    Attributes:
        keys: for every action, those of the file that nobody here knows included.
        problems: what is wrong with the file, each in a sentence; what is not wrong is in force.
    """

    keys: dict[str, Keys]
    problems: tuple[str, ...] = ()


def resolve(
    groups: Sequence[ActionGroup], values: object, source: str, renamed: Mapping[str, str] | None = None
) -> Bindings:
    """The keys that a file and the defaults give together.

    Args:
        groups: all actions there are.
        values: the file's JSON.
        source: the file's name, for messages.
        renamed: earlier names of actions, which files may still use.
    """
    if not isinstance(values, dict):
        return Bindings(
            _defaults(groups), (f'{source}: it must be {{"action": "key", …}}; the default keys are used.',)
        )
    known = {action.id for group in groups for action in group.actions}
    problems: list[str] = []
    own = _read(values, renamed or {}, problems)
    problems += [f"there is no action {_quoted(id_)}." for id_ in own if id_ not in known]
    keys = _Assignment(groups, own, problems).keys if own else _defaults(groups)
    return Bindings(keys, tuple(f"{source}: {problem}" for problem in problems))


def _defaults(groups: Sequence[ActionGroup]) -> dict[str, Keys]:
    return {action.id: action.keys for group in groups for action in group.actions}


def _read(values: Mapping[str, object], renamed: Mapping[str, str], problems: list[str]) -> dict[str, Keys]:
    """The file's keys by the present names of actions; an entry under the present name goes before the earlier one."""
    own: dict[str, Keys] = {}
    for name, value in values.items():
        id_ = renamed.get(name, name)
        if id_ != name and id_ in values:
            continue
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list) or not all(isinstance(key, str) for key in given):
            problems.append(f"{_quoted(name)} must be a key or a list of keys; its default is used.")
            continue
        keys = list(_parsed(name, given, problems))
        if keys or not given:
            own[id_] = tuple(dict.fromkeys(keys))
    return own


def _parsed(name: str, given: Iterable[str], problems: list[str]) -> Iterable[str]:
    for text in given:
        try:
            yield parse_key(text)
        except KeyNotationError as error:
            problems.append(f"{_quoted(name)}: {error}.")


def _quoted(name: str) -> str:
    return f'"{name if len(name) <= 60 else name[:59] + "…"}"'


class _Assignment:
    """Gives keys to actions, the user's first, so that no key means two things in one place."""

    def __init__(self, groups: Sequence[ActionGroup], own: Mapping[str, Keys], problems: list[str]) -> None:
        self._actions = {action.id: action for group in groups for action in group.actions}
        self._places = {action.id: group.places for group in groups for action in group.actions}
        self._own = own
        self._problems = problems
        self._holders: dict[str, list[str]] = {}  # for each key the actions that have it
        given = {id_: self._take(id_, keys) for id_, keys in own.items()}
        # In the order of the groups, the file's unknown actions after them.
        self.keys = {
            id_: given[id_] if id_ in given else self._take(id_, action.keys) for id_, action in self._actions.items()
        } | {id_: keys for id_, keys in given.items() if id_ not in self._actions}

    def _take(self, id_: str, keys: Keys) -> Keys:
        """Those of `keys` that are free for the action."""
        taken = {key: holder for key in keys if (holder := self._rival(id_, key))}
        free = tuple(key for key in keys if key not in taken)
        for key in free:
            self._holders.setdefault(key, []).append(id_)
        if id_ in self._own:
            self._problems += [
                f"{show_key(key)} is given to {holder} and to {id_}; it stays with the first."
                for key, holder in taken.items()
            ]
        elif taken and not free:
            key, holder = next(iter(taken.items()))
            self._problems.append(
                f"{show_key(key)} now means {holder}, which leaves {id_} without a key; "
                "give it another, or [] if it needs none."
            )
        return free

    def _rival(self, id_: str, key: str) -> str | None:
        """An action that has the key where this one is listened to, too, and was not made to share it."""
        places = self._places.get(id_)
        if places is None:
            return None
        return next(
            (
                holder
                for holder in self._holders.get(key, ())
                if holder in self._places and places & self._places[holder] and not self._share_by_default(id_, holder)
            ),
            None,
        )

    def _share_by_default(self, one: str, other: str) -> bool:
        return not set(self._actions[one].keys).isdisjoint(self._actions[other].keys)
