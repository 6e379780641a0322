"""What a command line makes readable outside of the project, without secrets and what commands can exchange."""

import os
from collections.abc import Sequence

from kaa.hands.confinement.layout import concealment
from kaa.hands.policy import Policy
from kaa.host.paths import exchangeable, is_below
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.place import Place
from kaa.workspace.sandbox.program import CERTIFICATES
from kaa.workspace.sandbox.secrets import conceal

# They mark the folder of a package, or of a virtual environment.
_PACKAGE_FILES = ("package.json", "pyproject.toml", "pyvenv.cfg", "setup.py", "go.mod", "Cargo.toml", "deno.json")
_MAX_BUNDLE_BYTES = 4 * 1024 * 1024
_SYSTEM = ("/", "/bin", "/usr/bin", "/usr/local/bin", "/opt", "/home")


class RightsError(ValueError):
    """A command line names what its server may not read; the message says why and what to do."""


def readable_places(server: ConfiguredServer, words: Sequence[str], place: Place) -> tuple[str, ...]:
    """What a command line needs to read outside of the project: folders it names, and the packages of files it names.

    Real paths, and the paths by which the words name them. Secrets in them stay hidden.

    Args:
        server: whose command line it is.
        words: the program and its arguments.
        place: where it runs.

    Raises:
        RightsError: a word names something hidden, or commands can change what it leads to.
    """
    home = os.path.realpath(place.user_home)
    file, (hidden, shown) = server.source.file, _concealment(place)
    own = tuple(map(os.path.realpath, filter(None, (server.source.root, server.source.data))))
    found: dict[str, None] = {}
    for number, word in enumerate(words):
        path = os.path.expanduser(word) if word.startswith(("/", "~/")) else ""
        if not path or not os.path.exists(path):
            continue
        real = os.path.realpath(path)
        if is_below(real, (place.project, *own)):
            continue
        if (link := exchangeable(path, place.commands_can_write)) is not None:
            if number == 0:  # a link to an interpreter, as in virtual environments, uncovers nothing
                if not place.can_write_now(link):  # of another project, which is not seen besides
                    found[_package_of(os.path.normpath(path), home)] = None
                continue
            raise RightsError(
                f"its argument {word} passes through the link {link}, which commands can change. Name what is"
                f" meant, such as {real}, in {file}"
            )
        if _nearest(real, hidden) > _nearest(real, shown):
            raise RightsError(
                f"its argument {word} is hidden from servers, because it may hold secrets. Remove it from {file}; an"
                f" exception in `sandbox.hidden` of {place.home.settings} shows files to commands and servers, except"
                " kaa's own"
            )
        if place.can_write_now(real):  # what is in there can be exchanged until the server starts
            found[place.whole(real)] = None
            continue
        for one in (real, *([] if ".." in path.split("/") else [os.path.normpath(path)])):
            found[one if os.path.isdir(one) else _package_of(one, home)] = None
    return tuple(found)


def certificates(place: Place) -> tuple[str, ...]:
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


def _concealment(place: Place) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is hidden, secrets and kaa's folder, and what the user's exceptions and kaa itself show of that."""
    home, private = place.user_home, (str(place.home.path),)
    concealed = conceal(home, private, place.sandbox().hidden, place.environ)
    policy = Policy("none", "read-only", hidden=concealed.hidden, shown=concealed.shown, private=private)
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
