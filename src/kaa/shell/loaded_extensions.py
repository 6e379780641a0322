"""The extensions of a process: kaa's own and the user's, each loaded once for all conversations."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kaa.builtin import (
    background,
    budget_command,
    choice_commands,
    commands,
    prompt,
    session_commands,
    sharing_commands,
    tools,
    usage_reports,
)
from kaa.ext.errors import ExtensionError
from kaa.ext.extensions import Extensions
from kaa.ext.kinds import extension_at
from kaa.ext.places import discover, fingerprint
from kaa.shell.home import Home, expanded
from kaa.shell.options import HostOptions

if TYPE_CHECKING:
    from kaa.ext.process.host import ProcessHost

# First, so that the user's extensions can replace prompt sections and see every hook after them.
_BUILT_IN = (
    prompt,
    tools,
    commands,
    choice_commands,
    usage_reports,
    session_commands,
    sharing_commands,
    background,
    budget_command,
)

_UNPROTECTED = (
    "commands of the model could have changed it, because kaa has not protected it since its start. Check the file, and"
    " start kaa again with the extension in your settings or with -e"
)


class LoadedExtensions:
    """Loads what conversations need and keeps it until the process ends.

    Args:
        options: which extensions the user gave besides those in the settings.
        home: has the user's own.
        report: told, in a sentence, of what goes wrong where nothing can be raised.
        protected: whether commands cannot change an extension, and could not before. No other one is executed.
        process_host: gives what extension processes are started by.

    Attributes:
        loaded: all of them, by name; the name of the user's is its path.
    """

    def __init__(
        self,
        options: HostOptions,
        home: Home,
        report: Callable[[str], None],
        protected: Callable[[Path], bool],
        process_host: "Callable[[], ProcessHost]",
    ) -> None:
        self._options = options
        self._home = home
        self._report = report
        self._protected = protected
        self._process_host = process_host
        self.loaded = Extensions(report)
        self._fingerprints: dict[str, object] = {}  # of the user's own, as they were loaded

    def load(self, configured: Sequence[str]) -> tuple[str, ...]:
        """Load what a conversation uses and is not loaded yet. Returns the names of all that it uses.

        One that is not protected is left out, with a notice.

        Args:
            configured: the paths that its settings name.

        Raises:
            ExtensionError: one cannot be loaded, or registers what another one has registered.
        """
        names: list[str] = []
        for module in _BUILT_IN:
            if module.__name__ not in self.loaded.names:
                self.loaded.load(module.__name__, module.extend, built_in=True, beside=names)
            names.append(module.__name__)
        options = self._options
        own = [*discover(self._home.extensions), *map(expanded, configured)] if options.discover_extensions else []
        for path in dict.fromkeys((*own, *options.extensions)):
            if str(path) in self.loaded.names:
                self.loaded.check(str(path), beside=names)
            elif self._protected(path):
                self._load(path, names)
            else:
                self._report(f"extension {path} is not loaded: {_UNPROTECTED}")
                continue
            names.append(str(path))
        return tuple(names)

    def reload(self, names: Sequence[str]) -> list[str]:
        """Load extensions again whose files changed. One that fails to load, or is not protected, stays as it was.

        Args:
            names: the extensions of the conversation.

        Returns:
            What that did, a line for each.
        """
        lines: list[str] = []
        for name in names:
            path = Path(name)
            if name not in self._fingerprints or fingerprint(path) == self._fingerprints[name]:
                continue
            if not self._protected(path):
                lines.append(f"extension {name} is not loaded again: {_UNPROTECTED}")
                continue
            try:
                self._load(path, names)
                lines.append(f"extension {name} was loaded again")
            except ExtensionError as error:
                lines.append(f"{error}. Its previous version stays loaded")
        return lines

    def _load(self, path: Path, beside: Iterable[str]) -> None:
        found = fingerprint(path)  # before: a change during the load is a change
        self.loaded.load(str(path), extension_at(path, self._process_host), beside=beside)
        self._fingerprints[str(path)] = found

    def close(self) -> None:
        """Unload all."""
        self.loaded.close()
