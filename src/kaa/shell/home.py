"""Where kaa keeps the user's files: `~/.kaa/agent`, laid out as pi's `~/.pi/agent`. `KAA_DIR` moves it."""

from collections.abc import Mapping
from pathlib import Path

# The folder of a project that holds kaa's settings for it.
PROJECT_FOLDER = ".kaa"


class Home:
    """The user's own folder.

    Args:
        path: the folder itself; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Home":
        """The folder that `environ` asks for."""
        configured = environ.get("KAA_DIR")
        return cls(Path(configured).expanduser() if configured else Path.home() / ".kaa" / "agent")

    @property
    def settings(self) -> Path:
        """settings.json."""
        return self.path / "settings.json"

    @property
    def sessions(self) -> Path:
        """The folder of session files."""
        return self.path / "sessions"

    @property
    def extensions(self) -> Path:
        """The folder of the user's extensions."""
        return self.path / "extensions"
