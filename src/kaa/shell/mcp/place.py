"""Where servers run, and the command line of one as it starts there."""

import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from kaa.host.known_projects import known_projects
from kaa.host.paths import is_below
from kaa.host.programs import commands_can_write, written
from kaa.host.writers import without_toolchains, writer_of
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.variables import filler
from kaa.workspace.sandbox.options import SandboxOptions


class ServerPlace(msgspec.Struct, frozen=True):
    """Where servers run.

    Attributes:
        project: its directory, canonical.
        sandbox: gives the sandbox of the project's commands; what is hidden there is hidden from servers, too.
        report: told, in a sentence, of what the user should know.
        is_full_access: whether the user chose to do without a sandbox.
        own_data: what the plugin of a server keeps, for that server: nobody but the plugin writes it. A real path.
    """

    home: Home
    environ: Mapping[str, str]
    project: str
    sandbox: Callable[[], SandboxOptions]
    report: Callable[[str], None] = lambda _: None
    is_full_access: Callable[[], bool] = lambda: False
    own_data: str = ""

    def seen_by(self, server: ConfiguredServer) -> "ServerPlace":
        """The same for one server: for it, what its plugin keeps is not what others can write."""
        if not server.source.data or not server.entry.sandbox:
            return self
        return msgspec.structs.replace(self, own_data=os.path.realpath(server.source.data))

    @property
    def user_home(self) -> str:
        """The user's home directory."""
        return self.environ.get("HOME") or os.path.expanduser("~")

    def expanded(self, path: str) -> str:
        """A path as texts and command lines have it, with the home in the place of `~` or `$HOME`."""
        return re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/)", lambda _: self.user_home, path)

    @property
    def _kept(self) -> str:
        """What plugins keep."""
        return _real(str(self.home.plugin_data))

    def _kept_by_others(self) -> tuple[str, ...]:
        """What plugins keep, but for that of the server's own."""
        if not self.own_data:
            return (self._kept,)
        others = (os.path.join(self._kept, name) for name in os.listdir(self._kept))
        return tuple(one for one in others if os.path.realpath(one) != self.own_data)

    def can_write_now(self, path: str) -> bool:
        """Whether commands of this run, or hooks of plugins, can write to `path`, a real path."""
        if is_below(path, (self.project, *self.sandbox().writable)) or commands_can_write(path):
            return True
        return is_below(path, (self._kept,)) and not (self.own_data and is_below(path, (self.own_data,)))

    def commands_can_write(self, path: str) -> bool:
        """Whether commands of the model can write to `path`, a real path, or could in any run of kaa."""
        return self.can_write_now(path) or writer_of(path, self.environ, self.project) is not None

    def whole(self, path: str) -> str:
        """The directory as a whole that commands can write and a path is in: those of this run cannot exchange it."""
        if not self.can_write_now(path):
            return writer_of(path, self.environ, self.project) or path
        while self.can_write_now(parent := os.path.dirname(path)) and parent != path:
            path = parent
        return path

    def has_some(self, paths: Iterable[str], folder: str) -> bool:
        """Whether some of real paths lie in a folder, or in the directory as a whole that it is in."""
        return any(is_below(path, (self.whole(folder),)) for path in paths)

    def writable_now(self) -> tuple[str, ...]:
        """The directories that commands of this run can write: real paths."""
        return tuple(map(os.path.realpath, (self.project, *self.sandbox().writable, *written())))

    def writable(self) -> tuple[str, ...]:
        """The directories that commands of the model can write, or could in other projects: real paths."""
        now = (*self.writable_now(), *map(os.path.realpath, self._kept_by_others()))
        known = known_projects(self.environ, self.project, added=True)
        return tuple(dict.fromkeys((*now, *without_toolchains(known, self.environ))))


_PROJECT_OF_PLUGIN = "CLAUDE_PROJECT_DIR"  # see `environment_for` of plugins


@functools.lru_cache(maxsize=4)
def _real(path: str) -> str:
    """The real path of a folder in kaa's home, which no command can exchange."""
    return os.path.realpath(path)


class ServerCommandLine(msgspec.Struct, frozen=True):
    """What starts a server, with its variables filled in.

    Attributes:
        words: the program and its arguments.
        variables: those that the entry sets.
        cwd: the directory that the entry names; empty if it names none.
        told: variables with the project that kaa itself sets for each server of a plugin: they name nothing in it.
    """

    words: tuple[str, ...]
    variables: Mapping[str, str]
    cwd: str
    told: frozenset[str] = frozenset()

    @property
    def naming(self) -> Mapping[str, str]:
        """The variables by which the entry may name files and folders."""
        return {name: value for name, value in self.variables.items() if name not in self.told}

    def base(self, project: str) -> str:
        """The directory that relative paths are about."""
        return os.path.join(project, os.path.expanduser(self.cwd))

    @classmethod
    def of(cls, server: ConfiguredServer, place: ServerPlace) -> "ServerCommandLine":
        """The command line of a server that is a program.

        Raises:
            VariableError: it needs a variable that it may not have.
        """
        entry, fill = server.entry, filler(server, place.home, place.environ, place.project)
        words = tuple(fill(word) for word in (entry.command, *entry.args))
        variables = {name: fill(value) for name, value in entry.env.items()}
        is_told = server.source.scope == "plugin" and variables.get(_PROJECT_OF_PLUGIN) == place.project
        told = frozenset({_PROJECT_OF_PLUGIN} if is_told else ())
        return cls(words, variables, fill(entry.cwd), told)
