"""Where attempts take place: a home with a project in it, and a world around them."""

import atexit
import compileall
import copy
import functools
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.escapes.world.people import Person
from tests.support.elsewhere import in_memory

_ATTEMPTS = Path(__file__).resolve().parents[1] / "attempts"


class PlaceError(Exception):
    """There is no directory to work in."""


class Arena:
    """The directories of one run.

    Attributes:
        person: who owns it.
        top: what everything is in.
        home: the person's home.
        project: where the sandbox is started.
        attempts: the program that makes the attempts.
    """

    def __init__(self, person: Person, top: Path) -> None:
        self.person = person
        self.top = top
        self.home = top / "home"
        self.project = self.home / "work" / "project"
        self.outside = top / "outside"
        self.attempts = top / "code" / "tests" / "escapes" / "attempts"
        self._elsewhere: list[Path] = []

    def directory(self, name: str, base: str = "") -> Path:
        """A new directory outside the project, for one canary.

        Args:
            name: of the canary.
            base: where: empty beside the home, `home` in it, or a directory of the system that everybody writes.
        """
        if base in ("", "home"):
            parent = self.outside if not base else self.home
            directory = parent / name
            directory.mkdir(parents=True)
            return directory
        directory = _fresh("kaa-escape", Path(base))
        directory.chmod(0o755)
        self._elsewhere.append(directory)
        return directory

    def with_own_project(self, name: str) -> "Arena":
        """The same arena, but for another project as fresh as the first."""
        other = copy.copy(self)
        other.project = self.project.with_name(name)
        shutil.copytree(_template().project, other.project, symlinks=True)
        return other

    def hand_over(self) -> None:
        """Give everything to the person."""
        self.person.own(self.top)
        for directory in self._elsewhere:
            self.person.own(directory)

    def remove(self) -> None:
        """Remove everything."""
        for directory in (self.top, *self._elsewhere):
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def arena(person: Person) -> Iterator[Arena]:
    """A fresh arena."""
    top = _fresh(".escapes", _place()).resolve()
    top.chmod(0o755)
    new = Arena(person, top)
    try:
        new.outside.mkdir()
        template = _template()
        shutil.copytree(template.home, new.home, symlinks=True)
        shutil.copytree(template.attempts, new.attempts)
        yield new
    finally:
        new.remove()


@functools.cache
def _template() -> Arena:
    """An arena to copy: git takes longer to make one."""
    template = Arena(
        Person("nobody", -1), _fresh("kaa-escapes-template", next(iter(in_memory()), Path(tempfile.gettempdir())))
    )
    atexit.register(template.remove)
    shutil.copytree(_ATTEMPTS, template.attempts, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(template.attempts, quiet=2)
    _lay_out(template)
    return template


def _place() -> Path:
    """A directory which everybody may enter, and which sandboxes show as it is.

    Not one for temporary files: of those they have their own, where nothing of the host's could be harmed anyway.
    """
    for place in (*in_memory(), Path("/home"), Path("/srv"), Path("/opt"), Path.home()):
        if os.access(place, os.W_OK) and place.stat().st_mode & stat.S_IXOTH:
            return place
    if os.access(Path.home(), os.W_OK):
        return Path.home()
    raise PlaceError("neither /home, /srv, /opt nor the home directory can be written")


def _fresh(name: str, parent: Path) -> Path:
    """A new directory. Those of runs that were killed are removed first: their names say who made them."""
    for left in parent.glob(f"{name}-*-*"):
        maker = left.name.removeprefix(f"{name}-").partition("-")[0]
        if maker.isdecimal() and not Path(f"/proc/{maker}").exists():
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-{os.getpid()}-", dir=parent))


# What toolchains need, and no list of secrets hides.
LISTED = (".gitconfig-work", ".config/git/ignore", ".rustup/settings.toml", ".nvm/alias", ".local/share/uv/python/x")


def _lay_out(arena: Arena) -> None:
    for name in LISTED:
        (arena.home / name).parent.mkdir(parents=True, exist_ok=True)
        (arena.home / name).write_text(f"{name}\n")
    (arena.home / ".local" / "bin").mkdir(parents=True)
    (arena.home / ".bashrc").write_text("# the user's own\n")
    (arena.home / ".profile").write_text("# the user's own\n")
    arena.project.mkdir(parents=True)
    (arena.project / "README.md").write_text("A project.\n")
    _repository(arena.project)
    _git(arena.project, "config", "extensions.worktreeConfig", "true")
    dependency, module = arena.project / "dependency", arena.project / "module"
    for nested in (dependency, module):
        nested.mkdir()
        (nested / "README.md").write_text("Part of a project.\n")
    _repository(dependency)
    (arena.project / ".git" / "modules").mkdir()
    _repository(module, f"--separate-git-dir={arena.project}/.git/modules/module")
    _git(module, "config", "core.worktree", "../../../module")
    (module / ".git").write_text("gitdir: ../.git/modules/module\n")


def _repository(directory: Path, *options: str) -> None:
    _git(directory, "init", "-q", "-b", "main", "--template=", *options)
    git_directory = Path(options[0].partition("=")[2]) if options else directory / ".git"
    (git_directory / "hooks").mkdir()
    (git_directory / "hooks" / "README").write_text("Hooks go here.\n")
    for name, value in (("user.name", "Somebody"), ("user.email", "somebody@example.com"), ("commit.gpgsign", "false")):
        _git(directory, "config", name, value)
    _git(directory, "add", "README.md")
    _git(directory, "commit", "-q", "-m", "Begin")


def _git(directory: Path, *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True, capture_output=True)
