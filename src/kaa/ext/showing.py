"""What the extensions of one conversation show: checked, limited, in step with frontends, and removed in the end."""

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeAlias, get_args

import msgspec

from kaa.core.display_values import MOST_STORED_CHARACTERS, DisplayValue, Role, Text, characters_of
from kaa.core.messages import Json
from kaa.core.tool import ToolResult, text_result
from kaa.ext.display import (
    DisplayChange,
    DisplayKind,
    DisplayUpdate,
    EditorText,
    LastingChange,
    Level,
    NoticeShown,
    Placement,
    StatusSection,
    Widget,
    WindowTitle,
    WorkingMessage,
    is_removal,
    kind_of,
    removal_of,
)
from kaa.ext.invocation import as_message
from kaa.ext.places import ExtensionId
from kaa.ext.results import UnfitResultError, parse_result, shortened
from kaa.ext.scope import Scope
from kaa.host.allowance import RateLimiter
from kaa.tui.sanitize import sanitize, squeezed

_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Of one extension in one conversation: more would take the place of other extensions.
_MOST_SECTIONS = 8
# Nobody reads more; the terminal shows less.
_NOTICE_CHARACTERS = 4_000
_STATUS_CHARACTERS = 80
_TITLE_CHARACTERS = 200
_WIDGET_CHARACTERS = 20_000
_EDITOR_CHARACTERS = 200_000
# What lasts is passed on this often: a person sees no more, and a flood of changes costs a frontend nothing.
_INTERVAL_SECONDS = 0.1
# Notices and texts for the editor that an extension can send a second, and at once; the others are dropped.
_RATES: dict[DisplayKind, tuple[float, float]] = {"notice": (1, 20), "editor": (100, 10)}

_NAMES: dict[DisplayKind, str] = {
    "notice": "notices",
    "status": "status sections",
    "widget": "widgets",
    "editor": "text in an editor",
    "title": "window titles",
    "working": "working messages",
}

_Slot: TypeAlias = tuple[ExtensionId | None, DisplayKind, str]

DisplayContent: TypeAlias = str | DisplayValue | Sequence[str | DisplayValue]


class DisplayOutput(Protocol):
    """A frontend, as far as it shows what extensions want to be seen."""

    @property
    def shows(self) -> Collection[DisplayKind]:
        """What it can show."""

    def show(self, update: DisplayUpdate) -> None:
        """Show a change of one of these kinds. It must not wait."""


class ConversationDisplay:
    """What the extensions of a conversation show.

    Args:
        conversation: its id.
        output: the frontend; None if nobody looks.
        notify: tells the user what the frontend cannot show.
    """

    def __init__(self, conversation: str, output: DisplayOutput | None, notify: Callable[[str], None]) -> None:
        self._conversation = conversation
        self._output = output
        self._notify = notify
        self._shown: dict[_Slot, tuple[Scope | None, LastingChange]] = {}
        self._pending: dict[_Slot, LastingChange] = {}
        self._allowances: dict[tuple[ExtensionId | None, DisplayKind], RateLimiter] = {}
        self._dropped: dict[ExtensionId | None, int] = {}  # notices of each extension, which the user is told of
        self._recent: set[_Slot] = set()  # was changed in this interval
        self._told: set[tuple[ExtensionId, DisplayKind]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def show(self, scope: Scope | None, change: DisplayChange) -> bool:
        """Show a change for an extension, or for kaa itself. Returns whether the frontend can show it."""
        if self._is_closed or (scope is not None and not scope.is_open):
            return False
        owner, kind = None if scope is None or scope.built_in else scope.extension, kind_of(change)
        if self._output is None or kind not in self._output.shows:
            self._tell_once(owner, kind)
            return False
        match change:
            case NoticeShown() | EditorText():
                if not self._may_send(owner, kind):
                    if kind == "notice":
                        self._dropped[owner] = self._dropped.get(owner, 0) + 1
                        self._arm()
                    return False
                self._send(owner, change)
            case _:
                self._keep((owner, kind, _key_of(change)), scope, change)
        return True

    def remove_unloaded(self, loaded: Collection[Scope]) -> None:
        """Remove what extensions show that are not loaded any more, or are disabled."""
        for slot, (scope, change) in tuple(self._shown.items()):
            if scope is not None and scope not in loaded:
                del self._shown[slot]
                self._pending[slot] = removal_of(change)
        self._flush()

    def close(self) -> None:
        """The conversation ends: remove everything, and show nothing more."""
        self._is_closed = True
        for owner in tuple(self._dropped):
            self._tell_dropped(owner)
        for slot, (_, change) in self._shown.items():
            self._pending[slot] = removal_of(change)
        self._flush()
        if self._timer is not None:
            self._timer.cancel()

    def _keep(self, slot: _Slot, scope: Scope | None, change: LastingChange) -> None:
        before = self._shown.get(slot)
        if is_removal(change):
            if self._shown.pop(slot, None) is None:
                return
        else:
            if before is None and sum(one[:2] == slot[:2] for one in self._shown) >= _MOST_SECTIONS:
                raise ValueError(
                    f"an extension can show {_MOST_SECTIONS} {_NAMES[slot[1]]} at a time: remove one before {slot[2]!r}"
                )
            self._shown[slot] = scope, change
            if before is not None and before[1] == change:
                return
        if slot in self._recent:
            self._pending[slot] = change
        else:
            self._recent.add(slot)
            self._send(slot[0], change)
            self._arm()

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_INTERVAL_SECONDS, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._recent = set(self._pending)
        for owner in tuple(self._dropped):
            if self._may_send(owner, "notice"):
                self._tell_dropped(owner)
        if self._pending:
            self._flush()
        if self._recent or self._dropped:
            self._arm()

    def _may_send(self, owner: ExtensionId | None, kind: DisplayKind) -> bool:
        return self._allowances.setdefault((owner, kind), RateLimiter(*_RATES[kind])).take(1)

    def _tell_dropped(self, owner: ExtensionId | None) -> None:
        number = self._dropped.pop(owner)
        notices = "1 notice is" if number == 1 else f"{number:,} notices are"
        self._send(owner, NoticeShown(f"{notices} not shown: the extension sent too many at once", "warning"))

    def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        for (owner, _, _), change in pending.items():
            self._send(owner, change)

    def _send(self, owner: ExtensionId | None, change: DisplayChange) -> None:
        assert self._output is not None  # `show` refuses everything otherwise
        self._output.show(
            DisplayUpdate(self._conversation, owner.path if owner else "", owner.name if owner else "", change)
        )

    def _tell_once(self, owner: ExtensionId | None, kind: DisplayKind) -> None:
        if owner is not None and (owner, kind) not in self._told:
            self._told.add((owner, kind))
            self._notify(f"extension {owner.name} shows {_NAMES[kind]}, which are not visible in this mode")


class Show:
    """Shows something in one conversation, for the extension whose code runs.

    Each method returns whether the frontend can show it; kaa tells the user once what it cannot. What lasts is removed
    when the extension is unloaded or the conversation is closed. Calls must come from the event loop's thread.
    """

    def __init__(self, display: ConversationDisplay | None, scope: Scope | None) -> None:
        self._display = display
        self._scope = scope

    def notice(self, text: str, level: Level = "info") -> bool:
        """Show a message to the user."""
        _require_one_of(level, Level)
        return self._change(NoticeShown(_text(text, _NOTICE_CHARACTERS), level))

    def status(self, key: str, text: str, role: Role = "muted") -> bool:
        """Show a short text in the footer. `key` names it among those of the extension; the empty text removes it."""
        _require_one_of(role, Role)
        return self._change(StatusSection(_named(key), _line(text, _STATUS_CHARACTERS), role))

    def widget(self, key: str, content: DisplayContent, placement: Placement = "above") -> bool:
        """Show lines above or below the editor, at most ten.

        Args:
            key: names the widget among those of the extension.
            content: texts and display values, below each other; an empty one removes the widget.
            placement: where.
        """
        _require_one_of(placement, Placement)
        return self._change(Widget(_named(key), checked_values(content), placement))

    def editor_text(self, text: str) -> bool:
        """Replace the text in the editor, with a space before a `!` or a slash command at its beginning."""
        return self._change(EditorText(as_message(_text(text, _EDITOR_CHARACTERS))))

    def insert_text(self, text: str) -> bool:
        """Insert text into the editor, at the cursor; `!` and slash commands as in `editor_text`."""
        return self._change(EditorText(as_message(_text(text, _EDITOR_CHARACTERS)), "insert"))

    def title(self, text: str) -> bool:
        """Set the title of the window; the empty text restores kaa's own."""
        return self._change(WindowTitle(_line(text, _TITLE_CHARACTERS)))

    def working(self, text: str) -> bool:
        """Set the text of the line that is shown while the agent works; the empty text restores kaa's own."""
        return self._change(WorkingMessage(_line(text, _TITLE_CHARACTERS)))

    def _change(self, change: DisplayChange) -> bool:
        return self._display is not None and self._display.show(self._scope, change)


def display_result(text: str, content: DisplayContent) -> ToolResult:
    """The result of a tool: the model gets the text, the user sees the display values, also in a resumed session.

    Args:
        text: for the model, and for frontends that show plain text.
        content: texts and display values, below each other.

    Raises:
        TypeError: the content is something else.
        ValueError: it is too long.
    """
    return text_result(text, details={"display": storable(content)})


def storable(content: DisplayContent) -> list[Json]:
    """Texts and display values as JSON, for the session.

    Raises:
        TypeError: they are something else.
        ValueError: they are too long.
    """
    values: list[Json] = msgspec.json.decode(msgspec.json.encode(checked_values(content, MOST_STORED_CHARACTERS)))
    return values


def checked_values(content: object, most: int = _WIDGET_CHARACTERS) -> tuple[DisplayValue, ...]:
    """Texts and display values of an extension, clean and of limited length. Texts are `Text` values.

    Raises:
        TypeError: it is something else, or a field has a wrong type.
        ValueError: it is too long.
    """
    found = [content] if isinstance(content, str | DisplayValue) else content
    if not isinstance(found, list | tuple):
        raise TypeError(f"{shortened(content)} cannot be shown: use a text, a display value or a list of them")
    values = tuple(_value(one) for one in found if one != "")
    if (size := characters_of(values)) > most:
        raise ValueError(f"{size:,} characters cannot be shown: shorten them to {most:,}")
    return values


def _value(value: object) -> DisplayValue:
    if isinstance(value, str):
        return Text(sanitize(value))
    if not isinstance(value, DisplayValue):
        raise TypeError(f"{shortened(value)} cannot be shown: use a text or a display value, such as Markdown(text)")
    try:
        checked: DisplayValue = parse_result(value)
    except UnfitResultError as error:
        raise TypeError(f"{shortened(value)} cannot be shown: {error}") from error
    clean: DisplayValue = msgspec.convert(_clean(msgspec.to_builtins(checked)), type(checked))
    return clean


def _clean(value: object) -> object:
    """All texts in a value without what a terminal acts on."""
    match value:
        case str():
            return sanitize(value)
        case list() | tuple():
            return [_clean(one) for one in value]
        case dict():
            return {name: _clean(one) for name, one in value.items()}
        case _:
            return value


def _key_of(change: LastingChange) -> str:
    return change.key if isinstance(change, StatusSection | Widget) else ""


def _named(key: object) -> str:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ValueError(f"invalid key {shortened(key)}: use 1 to 64 letters, digits, _ . and -")
    return key


def _text(text: object, most: int) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{shortened(text)} cannot be shown: use a text")
    return sanitize(text if len(text) <= most else f"{text[: most - 1]}…")


def _line(text: object, most: int) -> str:
    return squeezed(_text(text, most))


def _require_one_of(value: object, choices: object) -> None:
    known = get_args(choices)
    if value not in known:
        raise ValueError(f"invalid value {shortened(value)}: use one of {', '.join(known)}")
