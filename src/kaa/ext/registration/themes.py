"""Registers folders with themes of the terminal."""

import os
import sys

from kaa.ext.errors import RegistrationError
from kaa.ext.registration.base import Registrar


class ThemeRegistrations(Registrar):
    """Themes."""

    def add_themes(self, folder: str) -> None:
        """Add the themes of a folder, `NAME.json`, to those of the user and kaa, which take precedence.

        Args:
            folder: relative to the file that calls this.

        Raises:
            RegistrationError: there is no such folder.
        """
        scope = self._open_scope()
        file = sys._getframe(1).f_globals.get("__file__")
        path = os.path.join(os.path.dirname(os.path.abspath(file)) if isinstance(file, str) else "", folder)
        if not os.path.isabs(path) or not os.path.isdir(path):
            raise RegistrationError(f"no such folder of themes: {path}: name one relative to the extension's file")
        scope.theme_folders.append(os.path.normpath(path))
        self._registrations.changed(scope)
