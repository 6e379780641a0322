"""Where kaa keeps the user's files: `~/.kaa/agent`, laid out as pi's `~/.pi/agent`. `KAA_DIR` moves it."""

import os
from collections.abc import Mapping
from pathlib import Path

from kaa.shell.settings import SettingsError

# The folder of a project that holds kaa's settings for it.
PROJECT_FOLDER = ".kaa"


def may_be_worktree(directory: str) -> bool:
    """True if a directory may be in a worktree of kaa's, as far as its name tells (`kaa.shell.worktrees.registry`)."""
    return "/kaa/worktrees/" in directory


def expanded(path: str | Path) -> Path:
    """The path with the user's home for `~`; `~` of a user nobody knows stays, as in a shell."""
    return Path(os.path.expanduser(path))  # Path.expanduser would raise


def session_folder(given: str | Path | None, configured: str | None) -> Path | None:
    """The one folder for the sessions of all projects; None where each project has a folder of its own.

    Args:
        given: by whoever started kaa (`--session-dir`).
    """
    chosen = given or configured
    return expanded(chosen) if chosen else None


class Home:
    """The user's own folder.

    Args:
        path: the folder itself; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Home":
        """The folder that `environ` asks for.

        Raises:
            SettingsError: it is not known where the user's home is.
        """
        if configured := environ.get("KAA_DIR"):
            return cls(expanded(configured))
        path = expanded("~/.kaa/agent")
        if not path.is_absolute():  # it would be in the project, which must not say where keys go
            raise SettingsError("your home directory is not known: set HOME or KAA_DIR")
        return cls(path)

    @property
    def settings(self) -> Path:
        """settings.json."""
        return self.path / "settings.json"

    @property
    def sessions(self) -> Path:
        """The folder of session files."""
        return self.path / "sessions"

    @property
    def sockets(self) -> Path:
        """The folder of the sockets at which open conversations listen for other terminals."""
        return self.path / "run"

    @property
    def permissions(self) -> Path:
        """What the user permitted in sessions; a file for each."""
        return self.path / "permissions"

    @property
    def checkpoints(self) -> Path:
        """What files of projects were before each turn; a folder for each project."""
        return self.path / "checkpoints"

    @property
    def extension_data(self) -> Path:
        """What extensions keep; a folder for each."""
        return self.path / "extension-data"

    @property
    def extensions(self) -> Path:
        """The folder of the user's extensions."""
        return self.path / "extensions"

    @property
    def plugins(self) -> Path:
        """The folder of installed plugins and marketplaces."""
        return self.path / "plugins"

    @property
    def plugin_data(self) -> Path:
        """What plugins keep; a folder for each."""
        return self.path / "plugin-data"

    @property
    def trust(self) -> Path:
        """trust.json."""
        return self.path / "trust.json"

    @property
    def plugin_records(self) -> Path:
        """plugins.json."""
        return self.path / "plugins.json"

    @property
    def cache(self) -> Path:
        """What kaa can make again."""
        return self.path / "cache"
