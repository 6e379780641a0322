"""`kaa ext test`: loads an extension as a session would, says what it registers, and runs its tests."""

import argparse
import asyncio
import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path, PurePath

from kaa.ext.asking import NOBODY
from kaa.ext.errors import ExtensionError, UnapprovedError
from kaa.ext.places import ExtensionId, kind_of
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import printable
from kaa.shell.extensions.errors import InstallationError, UnknownNameError
from kaa.shell.extensions.in_projects import ExtensionsInProjects
from kaa.shell.extensions.installed import InstalledExtensions
from kaa.shell.extensions.installer import examine
from kaa.shell.extensions.trial import try_extensions
from kaa.shell.home import Home, expanded
from kaa.shell.options import HostOptions


def add_test_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="NAME_OR_PATH", help="an installed extension, or the file or folder of one")


def run_test(parsed: argparse.Namespace, home: Home) -> int:
    """Test an extension. That executes its code. Returns the exit code.

    Raises:
        InstallationError: it is no extension, or its tests cannot be run.
        ExtensionError: it cannot be loaded.
    """
    path = _place(parsed.path, parsed.directory, home)
    candidate = examine(path)
    problems = _tried(path, parsed.directory, home)
    beside = path.with_name(f"test_{path.name}")
    if path.is_file() and beside.is_file():
        return _tested(beside) or problems
    if any(_is_test(PurePath(name)) for name in candidate.files):
        return _tested(path) or problems
    return problems


def _place(given: str, directory: str, home: Home) -> Path:
    """The extension that is meant: a path, or the name of an installed one, as the user approved it.

    Raises:
        InstallationError: there is neither.
        ExtensionError: commands of the model could have changed the installed one since it was approved.
    """
    path = Path(os.path.abspath(Path(directory, expanded(given))))
    extensions = InstalledExtensions(home)
    try:
        installed = None if os.sep in given else extensions.get(given)
    except UnknownNameError:
        installed = None
        if not path.exists():
            raise
    if installed is not None:  # also if the project has something of that name
        if installed.path is None:
            raise InstallationError(extensions.problems(installed)[0])
        return _as_approved(installed.path, home)
    if not path.exists():
        raise UnknownNameError(f"{path} does not exist")
    return path


def _as_approved(path: Path, home: Home) -> Path:
    """What a session would load of an installed extension: a copy of it if it is in Python, and commands can write it.

    A path on the command line is a yes to what is there now, as with `-e`; a name is none.

    Raises:
        ExtensionError: it is not approved as it is.
    """
    decides = ExtensionsInProjects(home, os.environ, NOBODY)
    source = decides.source(ExtensionId.at(path, home.extensions), is_given=False, may_ask=False)
    try:
        copy = asyncio.run(source)
    except UnapprovedError as error:
        tested = f"`kaa ext test {shlex.quote(os.path.realpath(path))}` tests it as it is now"
        raise ExtensionError(f"{error}; {tested}") from error
    return copy if kind_of(path) == "python" else path


def _tried(path: Path, directory: str, home: Home) -> int:
    """Load it in a conversation that is thrown away, and print what it registers."""
    options = HostOptions(extensions=(path,), discover_extensions=False)
    trial = asyncio.run(try_extensions(options, home, os.environ, directory))
    if trial.failure:
        raise ExtensionError(trial.failure)
    (report,) = trial.reports
    problems = [*([report.problem] if report.problem else []), *report.refused]
    word = report.interface or report.kind
    adds = [f"  {line}" for line in report.adds] or ["  registers nothing"]
    deliver(sys.stdout, printable([f"{path}: loaded ({word})", *adds]))
    deliver(sys.stderr, printable([f"kaa: {line}" for line in (*problems, *trial.notices)]))
    return ExitCode.FAILED if problems else ExitCode.DONE


def _is_test(file: PurePath) -> bool:
    return file.match("test_*.py") and not any(part.startswith(".") for part in file.parts)


def _tested(path: Path) -> int:
    if importlib.util.find_spec("pytest") is None:
        raise InstallationError(
            f"{path} has tests, but the Python that kaa runs in has no pytest: run"
            f" {sys.executable} -m pip install pytest"
        )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
        cwd=path if path.is_dir() else path.parent,
        check=False,
    )
    return ExitCode.DONE if done.returncode == 0 else ExitCode.FAILED
