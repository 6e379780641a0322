"""Makes the two sides of a comparison: a commit in a temporary git worktree, and a copy of the working tree's sources.

Each side has a virtual environment of its own that takes the packages from `.venv` and kaa from its own sources. So
every Python that kaa starts, with whatever options, runs the sources of its side.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.process_tree import RunFailedError

REPOSITORY = Path(__file__).resolve().parents[2]

# What commands of kaa see in these places is not what is there: the sandbox replaces them.
_REPLACED = ("/tmp", "/var/tmp", "/run", "/dev", "/proc")

# Detached conversations are started with -P, everything else here with -I.
_WAYS_TO_START = ("-I", "-P")
_WHERE_FROM = "import kaa; print(kaa.__file__)"

# Also checks, in each measured process, where kaa comes from.
_START = """\
import sys
sources = sys.argv.pop(1)
import kaa
if not kaa.__file__.startswith(sources):
    sys.exit(f"kaa is loaded from {kaa.__file__} instead of {sources}")
from kaa.cli import main
sys.exit(main())
"""

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SetupError(Exception):
    """The comparison cannot begin; the message says why."""


class Side(NamedTuple):
    """One side of a comparison.

    Attributes:
        name: `base` or `now`.
        sources: the folder that contains the package `kaa`.
        python: the interpreter of its environment.
    """

    name: str
    sources: Path
    python: Path

    @property
    def start(self) -> tuple[str, ...]:
        """The arguments with which `python` starts kaa, before those for kaa."""
        return "-I", "-c", _START, f"{self.sources}/"


def check_checkout(folder: Path) -> None:
    """Check that a folder is the top of a git checkout.

    Raises:
        SetupError: it is not.
    """
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top.returncode:
        raise SetupError(f"{folder} is not a git checkout: {_last_words(top.stderr)}")
    if Path(top.stdout.strip()).resolve() != folder.resolve():
        raise SetupError(f"{folder} is not a git checkout of its own: it belongs to {top.stdout.strip()}")


def commit_of(repository: Path, revision: str) -> str:
    """Return the hash of the commit that a revision names.

    Raises:
        SetupError: there is no such commit.
    """
    found = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.returncode:
        raise SetupError(f"there is no commit '{revision}' in {repository}: give a revision that git log shows")
    return found.stdout.strip()


def changed_sources(repository: Path) -> list[str]:
    """Return the files of the sources that differ from HEAD, as git names them."""
    return [line[3:] for line in _git(repository, "status", "--porcelain", "--", "src").stdout.splitlines()]


@contextmanager
def workplace(repository: Path, folder: Path | None = None) -> Iterator[Path]:
    """Make a temporary folder where projects behave as those of users do, and remove it at the end of the block.

    Args:
        repository: the folder is made beside it, or in the user's home.
        folder: where to make it instead, whatever kaa makes of that place.

    Raises:
        SetupError: there is no place for it.
    """
    made = _place(repository, folder) / f"kaa-bench-{secrets.token_hex(4)}"
    try:
        made.mkdir()
        yield made
    finally:
        with _undisturbed():
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def sides(repository: Path, commit: str, folder: Path) -> Iterator[tuple[Side, Side]]:
    """Make both sides in `folder`, base and now; the worktree is removed at the end of the block.

    Raises:
        SetupError: one of them cannot be made.
    """
    base, now = folder / "base", folder / "now"
    shutil.copytree(repository / "src", now / "src", ignore=shutil.ignore_patterns("__pycache__"))
    try:
        _add_worktree(repository, base, commit)
        yield _side("base", base / "src", folder), _side("now", now / "src", folder)
    finally:
        with _undisturbed():
            _remove_worktree(repository, base)


def _place(repository: Path, folder: Path | None) -> Path:
    places = [place.resolve() for place in ([folder] if folder else [repository.parent, Path.home()])]
    writable = [place for place in places if os.access(place, os.W_OK | os.X_OK)]
    fit = [place for place in writable if folder or not any(map(place.is_relative_to, _REPLACED))]
    if not fit:
        names = " and ".join(map(str, places))
        reason = f"kaa's sandbox replaces {', '.join(_REPLACED)}" if writable else "it cannot be written"
        raise SetupError(f"no place for temporary folders in {names}: {reason}. Give another one with --folder DIR")
    return fit[0]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore signals that would end the program, also in the programs that are started meanwhile."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _add_worktree(repository: Path, path: Path, commit: str) -> None:
    # A hook of the user would run after the checkout.
    added = _git(
        repository, "-c", f"core.hooksPath={os.devnull}", "worktree", "add", "--quiet", "--detach", str(path), commit
    )
    if added.returncode:
        raise SetupError(f"git cannot make a worktree of {commit[:9]} in {path}: {_last_words(added.stderr)}")


def _remove_worktree(repository: Path, path: Path) -> None:
    """Remove a worktree as far as it exists; the second --force is for one that git has locked."""
    remove = ("worktree", "remove", "--force", "--force", str(path))
    if _git(repository, *remove).returncode:
        shutil.rmtree(path, ignore_errors=True)
        _git(repository, *remove)  # forgets one that is gone


def _side(name: str, sources: Path, folder: Path) -> Side:
    if not (sources / "kaa").is_dir():
        raise SetupError(f"{name} has no sources of kaa in src/kaa")
    environment = folder / f"{name}-python"
    venv.EnvBuilder(symlinks=True).create(environment)
    scripts, packages = (
        Path(sysconfig.get_path(kind, "venv", {"base": str(environment), "platbase": str(environment)}))
        for kind in ("scripts", "purelib")
    )
    lent = sysconfig.get_path("purelib")
    (packages / "change.pth").write_text(f"{sources}\n{lent}\n")
    ripgrep = Path(sysconfig.get_path("scripts")) / "rg"
    if ripgrep.exists():
        (scripts / "rg").symlink_to(ripgrep)  # kaa looks for it beside Python
    side = Side(name, sources, scripts / "python")
    for option in _WAYS_TO_START:
        _check_origin(side, option)
    return side


def _check_origin(side: Side, option: str) -> None:
    found = _run([str(side.python), option, "-c", _WHERE_FROM], env={})
    if found.returncode:
        raise SetupError(f"{side.name} cannot import kaa: {_last_words(found.stderr)}")
    if not found.stdout.startswith(f"{side.sources}/"):
        raise SetupError(f"{side.name} loads kaa from {found.stdout.strip()} instead of {side.sources}")


def check_scripts(side: Side, commands: list[list[str]]) -> None:
    """Check that processes that kaa started run scripts of kaa only from the sources of its side.

    Args:
        side: the side.
        commands: command lines.

    Raises:
        RunFailedError: one does not.
    """
    for command in commands:
        for script in (argument for argument in command if argument.endswith(".py") and "/kaa/" in argument):
            if not script.startswith(f"{side.sources}/"):
                raise RunFailedError(f"a process of {side.name} runs {script} instead of {side.sources}")


def _git(repository: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # of a git hook
    try:
        return _run(["git", "-C", str(repository), *arguments], env=environ)
    except FileNotFoundError as error:
        raise SetupError("git is not installed: it is needed for the sources of the base") from error


def _run(command: list[str], env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
    )


def _last_words(stderr: str) -> str:
    return "\n".join(stderr.strip().splitlines()[-5:])
