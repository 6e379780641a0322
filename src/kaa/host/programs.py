"""Finds the programs that kaa itself executes, outside everything that sandboxed commands can write.

A virtual environment that is activated, or `node_modules/.bin`, puts a directory of the project on the PATH. A command
in the sandbox can write a `gh` there; kaa, which holds keys and is not confined, must not execute it.
"""

import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kaa.host.paths import is_below, last_change, link_at, trail
from kaa.host.process import current_directory

if TYPE_CHECKING:
    from kaa.host.known_projects import KnownProjects

# kaa's own Python may need them to run; other programs of Python's do not.
_OF_PYTHON = frozenset({"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPLATLIBDIR"})
# With it, Perl looks for modules in the current directory (perl526delta).
_REMOVED = _OF_PYTHON | {"PERL_USE_UNSAFE_INC"}
SAFE_PATH = "PYTHONSAFEPATH"
"""With it, Python looks for modules neither in the current directory nor beside its script (3.11 and later)."""
# gcloud needs the modules beside its script: with `-E`, which its launcher hands on, it ignores the variable.
_WITH_SAFE_PATH = {SAFE_PATH: "1", "CLOUDSDK_PYTHON_ARGS": "-E"}
_MAX_FIRST_LINE_BYTES = 256  # BINPRM_BUF_SIZE in linux/binfmts.h
_LINKS_SECONDS = 60  # until links are followed again, if nothing is known to have changed

_written: dict[str, None] = {}  # a fact of the process: whichever sandbox lets commands write there


def note_writable(directories: Iterable[str]) -> None:
    """Note what sandboxed commands of this process can write; nothing in there is executed from now on."""
    _written.update(dict.fromkeys(map(os.path.realpath, directories)))


def commands_can_write(path: str) -> bool:
    """Whether sandboxed commands of this process can write to `path`, an absolute path without symlinks."""
    return is_below(path, _written)


def written() -> tuple[str, ...]:
    """What sandboxed commands of this process can write: real paths."""
    return tuple(_written)


def home_of(environ: Mapping[str, str]) -> str:
    """Return the directory where a program starts that loads or obeys what is in the current one: the user's home.

    Where commands can write the home itself, or there is none, it is the root.
    """
    home = environ.get("HOME", "")
    return home if os.path.isdir(home) and not commands_can_write(os.path.realpath(home)) else "/"


def host_programs(environ: Mapping[str, str] | None = None) -> "HostPrograms":
    """The programs of this machine, as they can be found now.

    Args:
        environ: the user's variables; the process's if None.
    """
    from kaa.host.known_projects import projects_now  # lazy: most runs execute no other program

    project, own = current_directory(), os.environ if environ is None else environ
    return HostPrograms(own, filter(None, (project, *_written)), projects_now(own, project or ""))


class HostPrograms:
    """Programs outside everything that sandboxed commands can write.

    Args:
        writable: directories that commands can write, whether they exist or not.
        projects: in which commands could write in other runs.

    Attributes:
        entries: of PATH, with the directories of the chosen versions in place of shims.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        writable: Iterable[str],
        projects: "KnownProjects | None" = None,
    ) -> None:
        from kaa.host.shims import is_folder_of_shims  # lazy: few programs are looked at so closely

        self._environ = environ
        # Where / is the project, commands write nothing, or whatever the user can: there is no outside.
        self._writable = tuple(path for path in dict.fromkeys(map(os.path.realpath, writable)) if path != "/")
        self._outside = _Outside(self._writable, projects)
        self.entries = environ.get("PATH", os.defpath).split(os.pathsep)
        self._of_shims = frozenset(entry for entry in self.entries if is_folder_of_shims(os.path.realpath(entry)))
        if self._of_shims:
            from kaa.host.version_managers import executed_by_shims  # lazy: not everybody has them

            replaced = (
                executed_by_shims(entry, environ, self._is_safe) if entry in self._of_shims else [entry]
                for entry in self.entries
            )
            self.entries = list(dict.fromkeys(place for places in replaced for place in places))

    def find(self, name: str) -> str | None:
        """The absolute path of a program; None if there is none that commands cannot write.

        A shim of a version manager obeys files that commands can write: the version that holds in the home takes its
        place.
        """
        found = (path for one in self._candidates(name, self.entries) for path in self._executed(one))
        safe = filter(self._is_safe_program, found)
        return next((one for one in safe if "/" not in name or self.keeps_file(one)), None)

    def exposed(self, name: str) -> str | None:
        """The program that a shell with the user's PATH, but without shims, runs for a name, if commands can write it.

        Of a name that is a path, also one that is or leads to a shim: it obeys what commands can write.
        """
        first = next(self._candidates(name, self.entries), None)
        if first is None:
            return None
        is_safe = self._is_safe_program(first) and ("/" not in name or self.keeps_file(first))
        return None if is_safe else os.path.abspath(first)

    def keeps_file(self, path: str) -> bool:
        """Whether commands could write a file, which the user names by its path, in no run and by no name of it.

        Unlike for `keeps`, a directory counts that was added to a project, and a hard link.
        """
        if not self._is_safe(path):
            return False
        from kaa.host.writers import is_shared_text, writer_of  # lazy: few programs are named by a path

        return not any(is_shared_text(one) or writer_of(one, self._environ) for one in trail(os.path.abspath(path)))

    def keeps(self, path: str) -> bool:
        """Whether commands can write neither an absolute path nor what leads to it, and it leads to no shim."""
        return self._is_safe(path)

    def refusal(self, name: str) -> str:
        """Why no program of this name is used although there is one; empty if there is none or one is used."""
        first = self._first(name)
        if first is None or self.find(name) is not None:
            return ""
        from kaa.host.writers import why_not_executed  # lazy: few programs are refused

        return why_not_executed(name, os.path.abspath(first), self._environ, self._writable)

    def environment(self) -> dict[str, str]:
        """The user's variables for such programs: whatever they execute and load in turn lies outside as well."""
        from kaa.host.loaded_variables import without_loaded  # lazy: most runs execute no other program

        own = {name: value for name, value in self._environ.items() if name not in _REMOVED}
        own["PATH"] = os.pathsep.join(self.entries)
        kept = {**_WITH_SAFE_PATH, **without_loaded(own, self._writable, self._is_safe, self._is_safe_entry)}
        kept.setdefault("PATH", os.defpath)
        return kept

    def fetching(self) -> tuple[dict[str, str], str]:
        """Return `environment` for programs that get something from the network, which obey settings of the home.

        Those that commands can write are switched off; the text says which, for errors, and is empty for none.
        """
        from kaa.host.home_settings import led_into_projects  # lazy, both: few runs fetch something
        from kaa.host.writers import why_not_the_users

        led = led_into_projects(self._environ, self.keeps_file)
        told = ". ".join(
            f"kaa does not use {path}: {why_not_the_users(path, self._environ, self._writable)}" for path in led
        )
        return self.environment() | dict(led.values()), told

    def changes(self) -> dict[str, str | None]:
        """Return what `environment` changes about the user's variables; None removes one."""
        safe = self.environment()
        names = (*self._environ, *safe)
        return {name: safe.get(name) for name in names if safe.get(name) != self._environ.get(name)}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Entries of PATH that `environment` leaves out."""
        entries = self._environ.get("PATH", "").split(os.pathsep)
        others = (entry for entry in entries if entry not in self._of_shims)
        return tuple(dict.fromkeys(entry or "(empty)" for entry in others if not self._is_safe_entry(entry)))

    def _candidates(self, name: str, entries: Iterable[str]) -> Iterator[str]:
        paths = [name] if "/" in name else [os.path.join(entry or os.curdir, name) for entry in entries]
        return filter(is_program, paths)

    def _first(self, name: str) -> str | None:
        """What a shell with the user's PATH runs for a name."""
        entries = self._environ.get("PATH", os.defpath).split(os.pathsep)
        return next(self._candidates(name, entries), None)

    def _executed(self, path: str) -> list[str]:
        """The program of a path, or what a shim there executes in the home."""
        from kaa.host.shims import is_folder_of_shims, is_shim  # lazy, as above

        if not is_shim(os.path.abspath(path)):
            return [path]
        from kaa.host.version_managers import executed_by_shims  # lazy: not everybody has them

        shims = [one for one in trail(os.path.abspath(path)) if is_folder_of_shims(os.path.dirname(one))]
        return [
            program
            for shim in shims
            for place in executed_by_shims(os.path.dirname(shim), self._environ, self._is_safe)
            if is_program(program := os.path.join(place, os.path.basename(shim)))
        ]

    def _is_safe_program(self, path: str) -> bool:
        from kaa.host.shims import is_shim  # lazy, as above

        interpreter = _interpreter(path)
        programs = [path] if interpreter is None else [path, interpreter]
        return all(self._is_safe(one) and not is_shim(one) for one in programs)

    def _is_safe_entry(self, entry: str) -> bool:
        """Whether neither an entry of a list nor what its links lead to can be written."""
        if not self._is_safe(entry):
            return False
        real = os.path.realpath(entry)
        return _has_safe_links(real, last_change(real), self._outside, int(time.monotonic()) // _LINKS_SECONDS)

    def _is_safe(self, path: str) -> bool:
        return self._outside.has(path)


class _Outside(NamedTuple):
    """What is outside everything that commands can write, or could.

    Attributes:
        writable: directories that they can write: real paths.
    """

    writable: tuple[str, ...]
    projects: "KnownProjects | None"

    def has(self, path: str, link_at: Callable[[str], str | None] = link_at) -> bool:
        """Whether commands can write neither an absolute path nor what leads to it, and it leads to no shim.

        Args:
            link_at: as for `trail`.
        """
        from kaa.host.shims import leads_to_shim  # lazy, as above

        if not os.path.isabs(path):
            return False
        places = tuple(trail(path, link_at))
        return not any(map(self._is_written, places)) and not leads_to_shim(path, places)

    def _is_written(self, place: str) -> bool:
        if is_below(place, self.writable):
            return True
        return self.projects is not None and self.projects.innermost(place) is not None


@functools.lru_cache(maxsize=64)
def _has_safe_links(directory: str, _changed: int, outside: _Outside, _minute: int) -> bool:
    """Whether nothing can be written that links of a directory lead to.

    Some have hundreds of links, which takes 20 ms. Commands can change nothing about the answer: neither a directory
    that is outside itself, nor what its links pass through.
    """
    try:
        with os.scandir(directory) as content:
            targets = [os.readlink(file.path) for file in content if file.is_symlink()]
        # A link to a neighbour leads nowhere else: that is looked at itself.
        remembered = functools.cache(link_at)
        return all(outside.has(os.path.join(directory, target), remembered) for target in targets if "/" in target)
    except OSError:  # a file, or not there
        return True


def is_program(path: str) -> bool:
    """Whether a path is a file that this process may execute."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _interpreter(path: str) -> str | None:
    """The program that executes a script; None if it is none."""
    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(_MAX_FIRST_LINE_BYTES)
    except OSError:  # executable but not readable: no script
        return None
    words = head[2:].partition(b"\n")[0].split(maxsplit=1) if head.startswith(b"#!") else []
    return os.fsdecode(words[0]) if words else None
