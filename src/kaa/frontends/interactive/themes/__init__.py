"""The themes there are: kaa's own, which lie beside this file, and the user's in `themes/` of the user's folder.

*Stage 1*: loaded before the first frame.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from kaa.host.regular_files import regular
from kaa.tui import theme_file
from kaa.tui.colors import Depth
from kaa.tui.palette import Theme
from kaa.tui.theme_file import ThemeError

_BUILT_IN = os.path.dirname(__file__)
_SUFFIX = ".json"
_MOST_CHARACTERS = 1024 * 1024

# When a file changed: time in ns, size in bytes, and which file it is (editors replace files).
_Stamp = tuple[int, int, int]


class ThemeChoice(NamedTuple):
    """The theme to show, and, in a sentence, why it is not the one that was asked for."""

    theme: Theme
    problem: str | None = None


class ThemeLibrary:
    """Finds and loads themes.

    A user's theme goes before one of kaa's with the same name, and this before those of extensions.

    Args:
        folder: the user's folder (`~/.kaa/agent`); its `themes` need not exist.
        depth: how many colours the terminal has. May be set anew; themes loaded from then on follow.
    """

    def __init__(self, folder: str, depth: Depth) -> None:
        self.depth = depth
        self._user_folder = os.path.join(folder, "themes")
        self._folders: tuple[str, ...] = ()
        self._chosen: ThemeChoice | None = None
        self._chosen_file = ""
        self._chosen_stamp: _Stamp | None = None

    def names(self) -> list[str]:
        """All that can be chosen by name, kaa's own first."""
        places = (_BUILT_IN, self._user_folder, *self._folders)
        return list(dict.fromkeys(name for folder in places for name in _names_in(folder)))

    def use_folders(self, folders: Sequence[str]) -> list[str]:
        """Find themes in these folders of extensions too. Returns which of them cannot be chosen, in sentences."""
        self._folders = tuple(folders)
        return [
            f"The theme {file} cannot be chosen: {found} has the same name. Rename one of them."
            for folder in self._folders
            for name in _names_in(folder)
            if (found := self._file(name)) != (file := os.path.join(folder, name + _SUFFIX))
        ]

    def load(self, name: str) -> Theme:
        """The theme of this name.

        Raises:
            ThemeError: there is none, or its file is broken.
        """
        return self._load(name)[0]

    def problem(self, setting: str) -> ThemeError | None:
        """Why the setting cannot be used, with either background; None if it can."""
        try:
            for is_dark in (True, False):
                self._load(self._resolve(setting, is_dark))
        except ThemeError as error:
            return error
        return None

    def knows(self, setting: str | None, background_is_dark: bool | None) -> bool:
        return setting is None or self._exists(self._resolve(setting, background_is_dark is not False))

    def choose(self, setting: str | None, background_is_dark: bool | None) -> ThemeChoice:
        """The theme that the setting asks for, with one of kaa's if that cannot be had.

        Args:
            setting: a name; `light/dark`, two names to choose from by the terminal's background; the beginning of
                two such names (`high-contrast` for `high-contrast-light/high-contrast-dark`); or None for kaa's own.
            background_is_dark: what is known of the terminal; None counts as dark.
        """
        background_is_dark = background_is_dark is not False
        name = self._resolve(setting or "light/dark", background_is_dark)
        try:
            theme, file = self._load(name)
            self._chosen = ThemeChoice(theme)
        except ThemeError as error:
            file = self._user_file(name)
            fallback = "dark" if background_is_dark else "light"
            theme = theme_file.parse(_read(_built_in_file(fallback)), fallback, self.depth)
            self._chosen = ThemeChoice(theme, f"{error}. The theme {fallback} is used.")
        self._chosen_file = file
        self._chosen_stamp = _stamp(file)
        return self._chosen

    def refresh(self) -> ThemeChoice | None:
        """The theme chosen last, if its file has changed since; cheap enough to be asked every second.

        A file that cannot be used now leaves the theme as it is, with the problem said.
        """
        if self._chosen is None or not self.is_watching:
            return None
        stamp = _stamp(self._chosen_file)
        if stamp is None or stamp == self._chosen_stamp:
            return None
        self._chosen_stamp = stamp
        try:
            text = _read(self._chosen_file)
            self._chosen = ThemeChoice(theme_file.parse(text, self._chosen_file, self.depth))
        except ThemeError as error:
            self._chosen = ThemeChoice(self._chosen.theme, f"{error}. The theme stays as it was.")
        return self._chosen

    @property
    def is_watching(self) -> bool:
        """Whether the theme chosen last is not kaa's, so that asking `refresh` makes sense."""
        return os.path.dirname(self._chosen_file) != _BUILT_IN

    def _resolve(self, setting: str, background_is_dark: bool) -> str:
        if "/" in setting:
            light, _, dark = setting.partition("/")
            return (dark if background_is_dark else light).strip()
        if not self._exists(setting):
            variant = f"{setting}-dark" if background_is_dark else f"{setting}-light"
            return variant if self._exists(variant) else setting
        return setting

    def _exists(self, name: str) -> bool:
        return self._file(name) is not None

    def _file(self, name: str) -> str | None:
        places = (self._user_folder, _BUILT_IN, *self._folders)
        files = (os.path.join(folder, name + _SUFFIX) for folder in places)
        return next(filter(os.path.exists, files), None)

    def _user_file(self, name: str) -> str:
        return os.path.join(self._user_folder, name + _SUFFIX)

    def _load(self, name: str) -> tuple[Theme, str]:
        if not name or "/" in name or "\0" in name:
            raise ThemeError(f"{name!r} is not the name of a theme")
        file = self._file(name)
        if file is not None:
            return theme_file.parse(_read(file), file, self.depth), file
        raise ThemeError(f"there is no theme {name!r} (there are {', '.join(self.names())})")


def _built_in_file(name: str) -> str:
    return os.path.join(_BUILT_IN, name + _SUFFIX)


def _names_in(folder: str) -> list[str]:
    try:
        files = os.listdir(folder)
    except OSError:
        return []
    return sorted(file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX) and file != _SUFFIX)


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", opener=regular) as stream:
            return stream.read(_MOST_CHARACTERS)
    except OSError as error:
        raise ThemeError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ThemeError(f"{file} is not a theme: it is not UTF-8") from error


def _stamp(file: str) -> _Stamp | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
