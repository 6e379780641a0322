"""Starts a Python without what editable installs lead to: an empty virtual environment of kaa's own has a link to it.

Whenever a Python starts, it reads the `.pth` files among its packages, and its standard library tries names that nobody
has, such as `nt` in `pathlib`, also in the folders that they list. Commands of the model could write such modules.
"""

import functools
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from kaa.host.paths import list_of_projects, trail
from kaa.host.programs import commands_can_write, host_programs
from kaa.host.python_environments import folders_of_environment, listed_folders, packages_of
from kaa.host.writers import writer_of

# Not from `hashlib`: that loads OpenSSL, which takes 3 ms.
try:
    from _blake2 import blake2b
except ImportError:  # a Python that was built without it
    from hashlib import blake2b

_VERSIONED = re.compile(r"python3\.\d+")
_NAMES = ("python3", "python", *(f"python3.{minor}" for minor in range(7, 21)))
_HAS_OWN_ONLY = re.compile(r"(?im)^\s*include-system-site-packages\s*=\s*false\s*$")


def imports_from_projects(python: str, environ: Mapping[str, str]) -> bool:
    """True if packages of a Python, or of the user for it, lead into projects, whether anything is there or not.

    Args:
        python: its absolute path.
    """
    now, key = int(time.monotonic()), _key(environ)
    return any(_is_led_into_projects(one, key, now) for one in _environments(python, environ))


def without_packages(python: str, environ: Mapping[str, str]) -> str | None:
    """Return a path that starts a Python with its standard library only; None if that is not possible.

    Args:
        python: its absolute path.

    Raises:
        OSError: kaa's own folder cannot be written.
    """
    return _linked(python, environ, ())


class ProgramStart(NamedTuple):
    """What starts a program.

    Attributes:
        program: an absolute path.
        readable: folders of kaa's that it needs.
    """

    program: str
    readable: tuple[str, ...] = ()


def without_projects(program: str, environ: Mapping[str, str]) -> ProgramStart:
    """Return what starts a program: a Python with its packages, but no editable installs that lead into projects.

    Args:
        program: its absolute path. Others than a Python stay as they are.

    Raises:
        OSError: kaa's own folder cannot be written.
    """
    version = os.path.basename(os.path.realpath(program))
    if _VERSIONED.fullmatch(version) is None or not imports_from_projects(program, environ):
        return ProgramStart(program)
    versions = {"python3", version}
    packages = [
        one
        for environment in _environments(program, environ)
        for one in packages_of(environment)
        if not versions.isdisjoint(one.split("/"))
    ]
    listed = [one for folder in packages for one in listed_folders(folder)]
    link = _linked(program, environ, [*packages, *(one for one in listed if not _is_of_project(one, environ))])
    return ProgramStart(program) if link is None else ProgramStart(link, (os.path.dirname(os.path.dirname(link)),))


def folders_without_packages(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Folders for the begin of PATH: with them, each name of a Python means the same one without packages.

    Raises:
        OSError: kaa's own folder cannot be written.
    """
    programs = host_programs(environ)
    return _folders(tuple(programs.entries), _key(environ), int(time.monotonic()))


@functools.lru_cache(maxsize=4)
def _folders(entries: tuple[str, ...], key: tuple[tuple[str, str], ...], _second: int) -> tuple[str, ...]:
    environ = {**dict(key), "PATH": os.pathsep.join(entries)}
    programs = host_programs(environ)
    found = (program for name in _NAMES if (program := programs.find(name)) is not None)
    links = (without_packages(program, environ) for program in found)
    return tuple(dict.fromkeys(os.path.dirname(link) for link in links if link is not None))


@functools.lru_cache(maxsize=32)
def _is_led_into_projects(environment: str, key: tuple[tuple[str, str], ...], _second: int) -> bool:
    environ = dict(key)
    return any(_is_of_project(folder, environ) for folder in folders_of_environment(environment, environ))


def _is_of_project(folder: str, environ: Mapping[str, str]) -> bool:
    return any(commands_can_write(one) or writer_of(one, environ) is not None for one in trail(folder))


def _key(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What decides where the user's and kaa's files are."""
    names = ("HOME", "KAA_DIR", "XDG_CACHE_HOME")
    return tuple((name, environ[name]) for name in names if name in environ)


def _environments(python: str, environ: Mapping[str, str]) -> list[str]:
    """The folders, of a Python and of the user, in which the packages of that Python are."""
    first = os.path.dirname(os.path.dirname(python))
    with suppress(OSError), open(os.path.join(first, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
        if _HAS_OWN_ONLY.search(file.read()):
            return [first]
    others = [os.path.dirname(os.path.dirname(one)) for one in trail(python)]
    local = ("/usr/local",) if "/usr" in {first, *others} else ()  # Debian
    user = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".local")
    return list(dict.fromkeys((first, user, *local, *others)))


def _linked(python: str, environ: Mapping[str, str], listed: Iterable[str]) -> str | None:
    """Return a link to a Python in an environment that has the packages of some folders only."""
    real = os.path.realpath(python)
    version = os.path.basename(real)
    if _VERSIONED.fullmatch(version) is None:
        return None  # of another language, or a script that starts one
    lines = "".join(f"{one}\n" for one in dict.fromkeys(listed))
    digest = blake2b(f"{real}\n{lines}".encode(errors="surrogateescape"), digest_size=8).hexdigest()
    home = os.path.dirname(list_of_projects(environ, environ.get("HOME") or os.path.expanduser("~")))
    top = os.path.join(home, "pythons", f"{version}-{digest}")
    link = os.path.join(top, "bin", os.path.basename(python))
    if not os.path.islink(link):
        _write(
            os.path.join(top, "pyvenv.cfg"), f"home = {os.path.dirname(real)}\ninclude-system-site-packages = false\n"
        )
        if lines:
            _write(os.path.join(top, "lib", version, "site-packages", "listed.pth"), lines)
        _place(lambda temporary: os.symlink(real, temporary), link)
    return link


def _write(path: str, text: str) -> None:
    def write(temporary: str) -> None:
        with open(temporary, "x", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)

    _place(write, path)


def _place(make: Callable[[str], None], path: str) -> None:
    """Make a file as a whole: other processes of kaa may make it, too."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.urandom(8).hex()}"
    make(temporary)
    os.replace(temporary, path)
