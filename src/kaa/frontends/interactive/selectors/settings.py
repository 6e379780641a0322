"""Lists of themes and display settings."""

import asyncio
from collections.abc import Callable
from typing import Any

from kaa.frontends.interactive.appearance import Appearance
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.preferences import SETTINGS, Preferences, Setting
from kaa.shell.settings_file import SettingsFile
from kaa.tui.components.select_list import SelectItem
from kaa.tui.components.settings_list import SettingRow, SettingsList
from kaa.tui.fuzzy import rank

# The theme that is none by name.
_AUTOMATIC = "automatic"


class SettingsSelectors:
    """Opens these lists, and applies what was chosen.

    Args:
        ui: the screen, the core and lists.
        look: shows a theme while it is looked at.
        on_kept: the choices have changed.
    """

    def __init__(
        self,
        ui: UIContext,
        look: Appearance,
        on_kept: Callable[[], None],
    ) -> None:
        self._ui = ui
        self._appearance = look
        self._on_kept = on_kept

    def theme(self, name: str = "") -> None:
        """Choose the theme; the one with the pointer is shown."""
        if name == _AUTOMATIC:
            self._keep("theme", None)
            return
        if name:
            problem = self._ui.main_view.themes.problem(name)
            if problem is None:
                self._keep("theme", name)
            else:
                self._ui.say(str(problem), "warning")
            return
        before = self._ui.main_view.preferences.theme
        current = self._ui.main_view.context.palette.theme.name
        items = [SelectItem("", _AUTOMATIC, "dark or light, as the terminal is", is_current=before is None)]
        items += [
            SelectItem(name, name, is_current=before is not None and name == current)
            for name in self._ui.main_view.themes.names()
        ]

        self._ui.lists.choose(
            "Theme",
            items,
            lambda name: self._keep("theme", name or None),
            on_highlight=lambda name: self._appearance.preview(name or None),
            on_cancel=lambda: self._appearance.preview(before),
        )

    def settings(self) -> None:
        """Change what the settings say of the terminal."""
        preferences = self._ui.main_view.preferences
        rows = [_row(setting, preferences) for setting in SETTINGS if setting.offered]

        def changed(id_: str, value: str) -> None:
            setting = next(setting for setting in SETTINGS if setting.field == id_)
            chosen = next(choice for choice in setting.offered if _shown(choice) == value)
            self._keep(setting.key, chosen)

        control = SettingsList(
            self._ui.main_view.context,
            rows,
            on_change=changed,
            on_close=lambda: self._ui.lists.close(dialog),
            rank=rank,
        )
        dialog = self._ui.lists.show(
            "Settings", control, "Enter changes, Esc closes; /theme and /model have lists of their own"
        )

    def _keep(self, key: str, value: object) -> None:
        """Write a choice into the settings and follow it."""
        changes: Any = value
        for part in reversed(key.split(".")):
            changes = {part: changes}

        async def keep(engine: Engine) -> None:
            await asyncio.to_thread(SettingsFile(engine.home.settings).set, changes)

        def kept(_: None) -> None:
            self._ui.main_view.reread_preferences()
            self._on_kept()

        self._ui.call(keep, kept)


def _row(setting: Setting, preferences: Preferences) -> SettingRow:
    value = getattr(preferences, setting.field)
    allowed = tuple(_shown(choice) for choice in setting.offered)
    return SettingRow(setting.field, setting.key, _shown(value), allowed, setting.description)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
