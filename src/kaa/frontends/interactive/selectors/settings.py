"""Lists of themes, and of settings of the terminal and of what tools may do."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from kaa.ext.choices import UserSetting
from kaa.frontends.interactive.appearance import Appearance
from kaa.frontends.interactive.dialogs.text_entry import TextEntry
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.preferences import SETTINGS, Preferences, Setting
from kaa.shell.settings_file import SettingsFile
from kaa.tui.component import Component
from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.components.settings_list import Done, SettingRow, SettingsList
from kaa.tui.fuzzy import rank

# The theme that is none by name.
_AUTOMATIC = "automatic"

_PERMISSIONS = {
    "approvals.policy": "Which tool calls need your approval",
    "sandbox.mode": "What tools can change",
    "sandbox.network": "The hosts that commands can reach: off, on, registries, or hosts with commas between them",
    "sandbox.writable": "Directories besides the project that tools can write, with commas between them",
    "sandbox.git": "Whether commands can write .git, except hooks and configuration",
    "sandbox.ports": "Whether kaa opens the servers of commands on this machine",
}


class SettingsSelectors:
    """Opens these lists, and applies what was chosen.

    Args:
        look: shows a theme while it is looked at.
        run: runs a slash command, which asks what else there is to choose.
    """

    def __init__(
        self,
        ui: UIContext,
        look: Appearance,
        on_kept: Callable[[], None],
        run: Callable[[str], None],
    ) -> None:
        self._ui = ui
        self._appearance = look
        self._on_kept = on_kept
        self._run = run

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
        """Change what tools may do, and what the settings say of the terminal."""

        async def permissions(engine: Engine) -> list[UserSetting]:
            return [one for one in engine.conversation.user_settings.listed() if "session" in one.scopes]

        self._ui.call(permissions, self._list, lambda _: self._list([]))

    def _list(self, permissions: Sequence[UserSetting]) -> None:
        preferences = self._ui.main_view.preferences
        rows = [
            *(self._permission_row(one) for one in permissions),
            *(_row(setting, preferences) for setting in SETTINGS if setting.offered),
        ]

        def changed(id_: str, value: str) -> None:
            if any(one.key == id_ for one in permissions):
                self._ui.lists.close(dialog)
                self._run(f"/settings {id_} {value}")
                return
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

    def _permission_row(self, setting: UserSetting) -> SettingRow:
        """A setting of which it is also chosen for what it holds, so that its values are not stepped through."""
        context, value = self._ui.main_view.context, setting.value.strip('"')

        def choose(_: str, done: Done) -> Component:
            items = [SelectItem(one, one, is_current=one == value) for one in setting.allowed]
            return SelectList(
                context, items, on_select=lambda item: done(item.value), on_cancel=lambda: done(None), rank=rank
            )

        def enter(_: str, done: Done) -> Component:
            return TextEntry(
                context,
                f"{setting.key}:",
                _listed(setting.value),
                on_enter=lambda text: done(text.strip() or "[]"),
                on_cancel=lambda: done(None),
            )

        shown = f"{_listed(setting.value) or 'none'} ({setting.source})"
        said = _PERMISSIONS.get(setting.key, "")
        return SettingRow(setting.key, setting.key, shown, (), said, choose if setting.allowed else enter)

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


def _listed(value: str) -> str:
    """A value of settings.json as people write it; lists with commas."""
    read = msgspec.json.decode(value)
    return ", ".join(map(str, read)) if isinstance(read, list) else _typed(read)


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _row(setting: Setting, preferences: Preferences) -> SettingRow:
    value = getattr(preferences, setting.field)
    allowed = tuple(_shown(choice) for choice in setting.offered)
    return SettingRow(setting.field, setting.key, _shown(value), allowed, setting.description)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
