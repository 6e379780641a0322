"""What kaa's own process loads code from, now and at its next start: nothing of it may be writable for commands.

Installed in a virtual environment of the project, kaa runs from the very directory that commands may write. The sandbox
mounts what `executed` names read-only. What kaa does not need of it, such as the project's own source tree beside it in
that environment, `leave_out` takes off the path of modules, so that it stays writable.
"""

import _imp
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

import kaa
from kaa.host.paths import is_below, trail

# Every interpreter imports these when it starts, from wherever modules may be.
_LOADED_AT_START = ("sitecustomize", "usercustomize")
_SUFFIXES = ("", ".py", ".pyc", *_imp.extension_suffixes())

_left_out: dict[str, None] = {}


def executed() -> tuple[str, ...]:
    """Absolute paths of files and directories, whether they exist or not, that must not be changed from inside."""
    package = os.path.dirname(os.path.abspath(kaa.__file__))
    interpreter = os.path.abspath(sys.executable)
    script = os.path.abspath(sys.argv[0]) if sys.argv[:1] != ["-c"] else ""
    paths = [package, *_prefixes(), os.path.dirname(interpreter)]
    paths += [os.path.join(prefix, "pyvenv.cfg") for prefix in _prefixes()]
    paths += [os.path.dirname(place) for place in trail(interpreter)]
    paths += [path for path in sys.path if os.path.isabs(path)]
    paths += [sys.pycache_prefix] if sys.pycache_prefix else []
    paths += [path for path in _left_out if path.endswith("-packages")]  # with .pth files, for the next start
    if os.path.isfile(script):
        paths += [script, os.path.join(os.path.dirname(script), "kaa-python")]  # bin/kaa reads it
    paths += [
        os.path.join(path, name + suffix) for path in _left_out for name in _LOADED_AT_START for suffix in _SUFFIXES
    ]
    return tuple(dict.fromkeys(paths))


def folders_of_code() -> tuple[str, ...]:
    """Real paths of the folders of kaa's own code. None can be the project: nothing can be mounted over that."""
    package = os.path.dirname(os.path.realpath(kaa.__file__))
    programs = (os.path.dirname(place) for place in trail(os.path.abspath(sys.executable)))
    libraries = (path for path in sys.path if path.endswith("-packages"))
    found = (package, os.path.dirname(package), os.path.dirname(os.__file__), *programs, *libraries)
    return tuple(dict.fromkeys(map(os.path.realpath, found)))


def leave_out(writable: Iterable[str]) -> None:
    """Load no module from directories that commands can write, unless kaa itself is installed there.

    Entries that depend on the current directory go too. The others become real paths: a link on the way to them that a
    command exchanges leads kaa nowhere else.
    """
    directories = [path for path in map(os.path.realpath, writable) if path != "/"]  # as for programs
    kept: dict[str, None] = {}
    needed = _needed()
    for path in map(os.path.realpath, filter(os.path.isabs, sys.path)):
        if is_below(path, directories) and not needed(path):
            _left_out[path] = None
        else:
            kept[path] = None
    sys.path[:] = kept
    kaa.__path__[:] = map(os.path.realpath, kaa.__path__)


def leave_out_projects(environ: Mapping[str, str]) -> None:
    """Load no module from projects in which commands could write, to which an editable install leads.

    Early: modules of the standard library try names that nobody has, such as `msvcrt`.
    """
    needed = _needed()
    others = [path for path in sys.path if os.path.isabs(path) and not needed(os.path.realpath(path))]
    if others:
        from kaa.host.known_projects import in_known_project  # lazy: most have no others

        for path in others:
            if in_known_project(os.path.realpath(path), environ, "", added=True) is not None:
                sys.path.remove(path)
                _left_out[os.path.realpath(path)] = None


def _needed() -> Callable[[str], bool]:
    """What says whether kaa needs a real path: it, Python or their libraries are there."""
    libraries = [os.path.realpath(os.path.join(top, name)) for top in _prefixes() for name in ("lib", sys.platlibdir)]
    own = os.path.dirname(os.path.dirname(os.path.realpath(kaa.__file__)))
    return lambda path: path == own or is_below(path, libraries)


def shared_files() -> list[str]:
    """Files of kaa's libraries that have another name: whoever can write that changes what kaa executes."""
    libraries = {path for path in sys.path if path.endswith("-packages")} | {os.path.dirname(kaa.__file__)}
    walks = (entry for library in sorted(libraries) for entry in os.walk(library))
    files = (os.path.join(folder, name) for folder, _, names in walks for name in names)
    return [path for path in files if path.endswith((".py", ".so")) and os.lstat(path).st_nlink > 1]


def _prefixes() -> Iterator[str]:
    """Of the virtual environment and of the Python that it was made with."""
    return iter(dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)))
