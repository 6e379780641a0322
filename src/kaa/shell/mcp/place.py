"""Where servers run, and the command line of one as it starts there."""

import glob
import os
import re
from collections.abc import Callable, Mapping

import msgspec

from kaa.host.paths import is_below, trail
from kaa.host.programs import commands_can_write, written
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.variables import filler
from kaa.workspace.sandbox.options import SandboxOptions

_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)[^}]*\})")
_QUOTES = re.compile(r"['\"\\]")
_BETWEEN_WORDS = re.compile(r"[\s`();,=:|&<>\[\]{}]+")


class Place(msgspec.Struct, frozen=True):
    """Where servers run.

    Attributes:
        home: the user's folder.
        environ: the user's environment variables.
        project: its directory, canonical.
        sandbox: gives the sandbox of the project's commands; what is hidden there is hidden from servers, too.
        report: told, in a sentence, of what the user should know.
        is_full_access: whether the user chose to do without a sandbox.
    """

    home: Home
    environ: Mapping[str, str]
    project: str
    sandbox: Callable[[], SandboxOptions]
    report: Callable[[str], None] = lambda _: None
    is_full_access: Callable[[], bool] = lambda: False

    def commands_can_write(self, path: str) -> bool:
        """Whether commands of the model can write to `path`, a real path."""
        return is_below(path, (self.project, *self.sandbox().writable)) or commands_can_write(path)

    def writable(self) -> tuple[str, ...]:
        """The directories that commands of the model can write: real paths."""
        return tuple(map(os.path.realpath, (self.project, *self.sandbox().writable, *written())))

    def written_in(self, command: str, base: str) -> str | None:
        """What a line of a shell names and commands of the model can write; None if nothing.

        Args:
            command: the line.
            base: the directory that it runs in.
        """
        variables = {**self.environ, "PWD": base}
        text = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), _QUOTES.sub("", command))
        home = self.environ.get("HOME", "/")
        for word in filter(None, _BETWEEN_WORDS.split(text)):
            path = os.path.join(base, home + word[1:] if word == "~" or word.startswith("~/") else word)
            found = glob.glob(path, include_hidden=True) if glob.has_magic(path) else [path]
            for one in found if "/" in word or os.path.lexists(path) or len(found) != 1 else ():
                written = next(filter(self.commands_can_write, trail(os.path.abspath(one))), None)
                if written is not None:
                    return written
        return None


class CommandLine(msgspec.Struct, frozen=True):
    """What starts a server, with its variables filled in.

    Attributes:
        words: the program and its arguments.
        variables: those that the entry sets.
        cwd: the directory that the entry names; empty if it names none.
    """

    words: tuple[str, ...]
    variables: Mapping[str, str]
    cwd: str

    def base(self, project: str) -> str:
        """The directory that relative paths are about."""
        return os.path.join(project, os.path.expanduser(self.cwd))

    @classmethod
    def of(cls, server: ConfiguredServer, place: Place) -> "CommandLine":
        """The command line of a server that is a program.

        Raises:
            VariableError: it needs a variable that it may not have.
        """
        entry, fill = server.entry, filler(server, place.home, place.environ, place.project)
        words = tuple(fill(word) for word in (entry.command, *entry.args))
        return cls(words, {name: fill(value) for name, value in entry.env.items()}, fill(entry.cwd))
