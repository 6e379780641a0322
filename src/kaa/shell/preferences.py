"""The user's choices about what the terminal shows, from `settings.json`; pi's keys where pi has the choice.

Only the shell's settings can stop a start. Here a value that cannot be used is told and the default is taken.
*Stage 1*: loaded before the first frame.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from kaa.shell.user_file import UserFileError, read_json

_FILE = "settings.json"

_MOST_OFFERED = 25
_ROUND = 20

Value: TypeAlias = str | int | bool | None

# As `kaa.session.outline` has them, which is not loaded before the first frame.
RowFilter: TypeAlias = Literal["default", "no-tools", "user-only", "labeled-only", "all"]


class Preferences(NamedTuple):
    """The choices in force; each is described in `SETTINGS`."""

    theme: str | None = None
    screen: Literal["main", "full", "linear"] = "main"
    reflow: Literal["rebuild", "keep"] = "rebuild"
    notifications: Literal["on", "bell", "off"] = "on"
    quiet_startup: bool = False
    hide_thinking_block: bool = False
    show_images: bool = True
    image_width_cells: int = 60
    show_terminal_progress: bool = False
    editor_mode: Literal["default", "vim"] = "default"
    editor_padding_x: int = 0
    autocomplete_max_visible: int = 5
    double_escape_action: Literal["rewind", "tree", "fork", "none"] = "rewind"
    tree_filter_mode: RowFilter = "default"
    branch_summary_skip_prompt: bool = False
    show_cache_miss_notices: bool = False
    external_editor: str | None = None


class Setting(NamedTuple):
    """Where a choice stands in the file, and what can be chosen.

    Attributes:
        field: its name in `Preferences`.
        key: its place in the file, with dots between levels.
        description: what it does, as a sentence without a full stop.
        allowed: the values there are; empty for any text, a range for numbers.
        also: other ways to write values, those of pi that kaa has other words for.
    """

    field: str
    key: str
    description: str
    allowed: tuple[Value, ...] | range = ()
    also: tuple[tuple[Value, Value], ...] = ()

    def accepts(self, value: object) -> bool:
        """Whether the value can be used as it is."""
        if not self.allowed:
            return isinstance(value, str)
        # 1 == True, so kinds are compared too.
        return any(value == choice and type(value) is type(choice) for choice in self.allowed)

    @property
    def offered(self) -> tuple[Value, ...]:
        """The values to step through in a menu: all that are allowed, or of very many numbers the round ones."""
        step = 1 if len(self.allowed) <= _MOST_OFFERED else _ROUND
        return tuple(self.allowed[step - 1 :: step])

    def expectation(self) -> str:
        """What is allowed, in words."""
        if not self.allowed:
            return "a text"
        if isinstance(self.allowed, range):
            return f"a whole number from {self.allowed.start} to {self.allowed.stop - 1}"
        return " or ".join(_as_json(value) for value in self.allowed)


_YES_NO = (True, False)

# All of them, in the order of a settings menu.
SETTINGS = (
    Setting("theme", "theme", "The colours: a theme, or light/dark to follow the terminal"),
    Setting(
        "screen",
        "ui.screen",
        "Where to show the conversation: in the terminal's own history, on the full screen, or line by line",
        ("main", "full", "linear"),
        (("fullscreen", "full"), ("regular", "main")),
    ),
    Setting(
        "reflow",
        "ui.reflow",
        "When the width changes: redraw the scrollback, or leave it to the terminal",
        ("rebuild", "keep"),
    ),
    Setting(
        "notifications",
        "ui.notifications",
        "When kaa needs you: a notification, only the bell, or nothing",
        ("on", "bell", "off"),
        ((True, "on"), (False, "off")),
    ),
    # pi 1.0 has "header" too, which leaves out all but what kaa shows at a start anyway.
    Setting("quiet_startup", "quietStartup", "Start without a header", _YES_NO, (("header", False),)),
    Setting("hide_thinking_block", "hideThinkingBlock", "Hide thinking", _YES_NO),
    Setting("show_images", "terminal.showImages", "Show images in the terminal", _YES_NO),
    Setting("image_width_cells", "terminal.imageWidthCells", "How wide images are shown", range(1, 501)),
    Setting("show_terminal_progress", "terminal.showTerminalProgress", "Show progress in the terminal's tab", _YES_NO),
    Setting("editor_mode", "editor.mode", "The keys of the editor", ("default", "vim")),
    Setting("editor_padding_x", "editorPaddingX", "Padding left and right of the editor's text, in columns", range(4)),
    Setting("autocomplete_max_visible", "autocompleteMaxVisible", "How many suggestions are shown", range(3, 21)),
    Setting(
        "double_escape_action",
        "doubleEscapeAction",
        "What Esc does when pressed twice with nothing typed",
        ("rewind", "tree", "fork", "none"),
    ),
    Setting(
        "tree_filter_mode",
        "treeFilterMode",
        "Initial filter of /tree",
        ("default", "no-tools", "user-only", "labeled-only", "all"),
    ),
    Setting(
        "branch_summary_skip_prompt",
        "branchSummary.skipPrompt",
        "Leave a branch without offering a summary",
        _YES_NO,
    ),
    Setting(
        "show_cache_miss_notices",
        "showCacheMissNotices",
        "Report unexpected misses of the provider's cache",
        _YES_NO,
    ),
    Setting("external_editor", "externalEditor", "The command of your own editor, instead of $VISUAL or $EDITOR"),
)

# Where pi has a choice in another place of the file; kaa's own place goes before it.
_ELSEWHERE = {"ui.screen": "tuiMode"}


class LoadedPreferences(NamedTuple):
    """The choices in force, and what is wrong with the file, each in a sentence."""

    preferences: Preferences
    problems: tuple[str, ...] = ()


def load_preferences(folder: str) -> LoadedPreferences:
    """The choices in `settings.json` of the user's folder (`~/.kaa/agent`)."""
    file = os.path.join(folder, _FILE)
    try:
        values = read_json(file)
    except UserFileError as error:
        return LoadedPreferences(Preferences(), (f"{error}. The default settings are used.",))
    return parse_preferences({} if values is None else values, file)


def parse_preferences(values: object, source: str) -> LoadedPreferences:
    """The choices that a settings file makes."""
    if not isinstance(values, dict):
        return LoadedPreferences(Preferences(), (f"{source}: it must be an object; the default settings are used.",))
    chosen: dict[str, Any] = {}  # each is checked against its setting
    problems: list[str] = []
    for setting in SETTINGS:
        key, value = _find(values, setting.key)
        if value is None:
            continue
        value = _translated(setting, value)
        if setting.accepts(value):
            chosen[setting.field] = value
        else:
            problems.append(
                f"{source}: {key} must be {setting.expectation()}, not {_as_json(value)}; {_instead(setting)}."
            )
    return LoadedPreferences(Preferences()._replace(**chosen), tuple(problems))


def _find(values: Mapping[str, object], key: str) -> tuple[str, object]:
    """The value at a key with dots, and the key under which it was found; None if it is not there."""
    value: object = values
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None and key in _ELSEWHERE:
        return _find(values, _ELSEWHERE[key])
    return key, value


def _translated(setting: Setting, value: object) -> object:
    return next((ours for theirs, ours in setting.also if value == theirs and type(value) is type(theirs)), value)


def _instead(setting: Setting) -> str:
    default = Preferences._field_defaults[setting.field]
    return "it is ignored" if default is None else f"{_as_json(default)} is used"


def _as_json(value: object) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
