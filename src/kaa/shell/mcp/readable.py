"""What a command line makes readable outside of the project, without secrets and what commands can exchange."""

import os
from collections.abc import Collection, Sequence

import msgspec

from kaa.ext.permissions import Permissions
from kaa.hands.confinement.layout import concealment
from kaa.hands.policy import Policy
from kaa.host.known_projects import known_projects
from kaa.host.paths import exchangeable, is_below
from kaa.host.programs import host_programs
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.variables import filler
from kaa.shell.mcp.imported import parts_elsewhere
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.rights import permissions_of
from kaa.workspace.sandbox.program import CERTIFICATES
from kaa.workspace.sandbox.secrets import conceal

# They mark the folder of a package, or of a virtual environment.
_PACKAGE_FILES = ("package.json", "pyproject.toml", "pyvenv.cfg", "setup.py", "go.mod", "Cargo.toml", "deno.json")
_MOST_PACKAGES = 100
_MAX_BUNDLE_BYTES = 4 * 1024 * 1024
_SYSTEM = ("/", "/bin", "/usr/bin", "/usr/local/bin", "/opt", "/home")


class RightsError(ValueError):
    """A command line names what its server may not read; the message says why and what to do."""


_NO_PROGRAM = "/bin/true"  # in the place of one that the user approved, and that commands find as well


def is_like_a_command(server: ConfiguredServer, place: ServerPlace, code: Collection[str]) -> bool:
    """Whether a server can do no more in its sandbox than a command that reads, whatever it executes. Blocks.

    It has no hosts, no variables, which may be secrets, and sees nothing outside of the project but its program. What
    the server keeps it must not see (`start_program`), and of a plugin's, nothing separates that.

    Args:
        server: the server.
        place: where it runs.
        code: the paths of what it executes and commands can write.
    """
    entry = server.entry
    if not entry.command or not entry.sandbox or entry.env or place.is_full_access():
        return False
    if permissions_of(entry, place.project) != Permissions(project="read"):
        return False
    return stays_in_project(server, place, code)


def stays_in_project(server: ConfiguredServer, place: ServerPlace, code: Collection[str]) -> bool:
    """Whether a server sees nothing outside of the project but its program, and executes no code from there. Blocks.

    Args:
        server: the server.
        place: where it runs.
        code: the paths of what it executes and commands can write.

    Raises:
        RightsError: a word names something hidden, or commands can change what it leads to.
    """
    if server.entry.readable or server.source.root or server.source.data:
        return False
    if not all(is_below(path, (place.project,)) for path in code):
        return False
    seen = place.seen_by(server)
    line = ServerCommandLine.of(server, seen)
    arguments = msgspec.structs.replace(line, words=(_NO_PROGRAM, *line.words[1:]))
    known = (place.project, _NO_PROGRAM, os.path.realpath(_NO_PROGRAM))
    return all(is_below(path, known) for path in readable_places(server, arguments, seen))


def readable_places(server: ConfiguredServer, line: ServerCommandLine, place: ServerPlace) -> tuple[str, ...]:
    """What a command line needs to read outside of the project: what it names, and what packages there are made of.

    It names folders, the packages of files, the directory where it starts, and the program. Real paths, and the paths
    by which the words name them. Secrets in them stay hidden.

    Args:
        server: whose command line it is.
        line: its command line.
        place: where it runs.

    Raises:
        RightsError: a word names something hidden, or commands can change what it leads to.
    """
    reading = _Reading(server, place)
    for number, word in enumerate(line.words):
        if word.startswith(("/", "~/")):
            reading.add(word, f"its argument {word}", is_program=number == 0)
    if "/" not in (name := line.words[0]) and (program := host_programs(place.environ).find(name)) is not None:
        reading.add_program(program)
    if line.cwd and server.source.scope not in ("project", "plugin", "agent"):  # no question and no report names it
        reading.add(line.base(place.project), f"its `cwd` {line.cwd}", is_start=True)
    fill = filler(server, place.home, place.environ, place.project)
    for text in map(fill, server.entry.readable):
        path = os.path.join(place.project, os.path.expanduser(text))
        if not os.path.exists(path):
            raise RightsError(f"{text} in its `readable` is not there: correct it in {server.source.file}")
        reading.add(path, f"{text} in its `readable`")
    return reading.found()


class _Reading:
    """Collects what a server may read.

    Args:
        server: the server.
        place: where it runs.
    """

    def __init__(self, server: ConfiguredServer, place: ServerPlace) -> None:
        self._place = place
        self._file = server.source.file
        self._home = os.path.realpath(place.user_home)
        self._hidden, self._shown = _concealment(place)
        data = filter(None, (server.source.root, server.source.data))
        self._own = (place.project, *map(os.path.realpath, data))
        self._found: dict[str, None] = {}
        self._packages: dict[str, None] = {}

    def found(self) -> tuple[str, ...]:
        """All of it, with what the packages among it consist of elsewhere."""
        for number, package in enumerate(packages := list(self._packages)):
            if number == _MOST_PACKAGES:
                break
            for folder in parts_elsewhere(package, self._home):
                if not self._may_be_read(folder):
                    continue
                real = folder if os.path.basename(folder) == "node_modules" else _package_of(f"{folder}/_", self._home)
                if real not in self._found and self._may_be_read(real):
                    self._found[real] = None
                    packages.append(real)
        return tuple(self._found)

    def add_program(self, path: str) -> None:
        """Add what a program of the user's home belongs to."""
        real = os.path.realpath(path)
        if is_below(real, (self._home,)) and self._may_be_read(real):
            self._add_package(_package_of(real, self._home))

    def add(self, named: str, what: str, *, is_program: bool = False, is_start: bool = False) -> None:
        """Add what is named, if it is there.

        Raises:
            RightsError: it is hidden, or commands can change what it leads to.
        """
        path = os.path.expanduser(named)
        real = os.path.realpath(path)
        if not os.path.exists(path) or is_below(real, self._own) or (is_start and is_below(self._home, (real,))):
            return
        if (link := exchangeable(path, self._place.commands_can_write)) is not None:
            if is_program:  # a link to an interpreter, as in virtual environments, uncovers nothing
                if not self._place.can_write_now(link):  # of another project, which is not seen besides
                    self._found[_package_of(os.path.normpath(path), self._home)] = None
                return
            raise RightsError(
                f"{what} passes through the link {link}, which commands can change. Name what is meant, such as {real},"
                f" in {self._file}"
            )
        if self._is_hidden(real):
            raise RightsError(
                f"{what} is hidden from servers, because it may hold secrets. Remove it from {self._file}; an exception"
                f" in `sandbox.hidden` of {self._place.home.settings} shows files to commands and servers, except kaa's"
                " own"
            )
        if self._place.can_write_now(real):  # what is in there can be exchanged until the server starts
            self._found[self._place.whole(real)] = None
            return
        for one in (real, *([] if ".." in path.split("/") else [os.path.normpath(path)])):
            self._add_package(one if os.path.isdir(one) else _package_of(one, self._home))

    def _add_package(self, path: str) -> None:
        self._found[path] = None
        if not is_below(self._home, (path,)) and not self._place.commands_can_write(os.path.realpath(path)):
            self._packages[path] = None

    def _may_be_read(self, real: str) -> bool:
        """Whether a place that nobody named may be: no secret, not all of a home, and nothing that commands write."""
        is_whole = is_below(self._home, (real,)) or real in _SYSTEM
        return not is_whole and not self._is_hidden(real) and not self._place.commands_can_write(real)

    def _is_hidden(self, real: str) -> bool:
        return _nearest(real, self._hidden) > _nearest(real, self._shown)


def certificates(place: ServerPlace) -> tuple[str, ...]:
    """Files in the home with certificates of authorities that variables of the user name: a network needs its own."""
    home = os.path.realpath(place.user_home)
    found = {os.path.realpath(place.environ[name]) for name in CERTIFICATES if place.environ.get(name)}
    ours = sorted(path for path in found if is_below(path, (home,)) and not place.commands_can_write(path))
    return tuple(filter(_has_only_certificates, ours))


def _has_only_certificates(path: str) -> bool:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = file.read(_MAX_BUNDLE_BYTES) or b""
    except OSError:
        return False
    return b"-----BEGIN CERTIFICATE-----" in content and b"PRIVATE KEY-----" not in content


def _concealment(place: ServerPlace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is hidden, secrets and kaa's folder, and what the user's exceptions and kaa itself show of that."""
    home, private = place.user_home, (str(place.home.path),)
    concealed = conceal(home, private, place.sandbox().hidden, place.environ)
    policy = Policy(
        "none",
        "read-only",
        hidden=concealed.hidden,
        shown=concealed.shown,
        private=private,
        untrusted=known_projects(place.environ, "", added=True),
    )
    return concealment(policy)


def _nearest(path: str, directories: Sequence[str]) -> int:
    """The length of the nearest of some directories that a path is in; 0 if it is in none."""
    return max((len(one) for one in directories if is_below(path, (one,))), default=0)


def _package_of(file: str, home: str) -> str:
    """The folder that a program or script needs as a whole; the file itself where that would be too much."""
    before, is_module, _ = file.partition("/node_modules/")
    if is_module:
        return before + "/node_modules"
    folder = os.path.dirname(file)
    while not is_below(home, (folder,)):  # which also ends at the root
        if any(os.path.exists(os.path.join(folder, name)) for name in _PACKAGE_FILES):
            return folder
        folder = os.path.dirname(folder)
    folder = os.path.dirname(file)
    return file if is_below(home, (folder,)) or folder in _SYSTEM else folder
