"""`kaa ext test`: runs the tests of an extension, or loads it and reports what it registers. That executes its code."""

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.extensions import Extensions
from kaa.ext.loader import load_extension
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import printable
from kaa.shell.extensions.candidate import Candidate, examine
from kaa.shell.extensions.control import added_by
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.needs import missing_needs
from kaa.shell.home import Home, expanded
from kaa.shell.loaded_extensions import load_built_in


def add_test_arguments(parser: argparse.ArgumentParser) -> None:
    """Of `kaa ext test`."""
    parser.add_argument("path", metavar="PATH", help="the file or folder of an extension")


def run_test(parsed: argparse.Namespace, home: Home) -> int:
    """Test an extension. Returns the exit code: that of its tests if it has any.

    Raises:
        InstallationError: it is no extension, or its tests cannot be run.
        ExtensionError: it cannot be loaded, or something that it needs is missing.
    """
    path = Path(parsed.directory, expanded(parsed.path))
    if not path.exists():
        raise InstallationError(f"{path} does not exist")
    candidate = examine(path)
    beside = path.with_name(f"test_{path.name}")
    if path.is_file() and beside.is_file():
        return _tested(beside)
    if any(Path(name).name.startswith("test_") and name.endswith(".py") for name in candidate.files):
        return _tested(path)
    if problems := missing_needs(path):
        raise ExtensionError(" ".join(problems))
    deliver(sys.stdout, printable(_registered(path) if candidate.kind == "python" else _described(path, candidate)))
    return ExitCode.DONE


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


def _registered(path: Path) -> list[str]:
    failures: list[str] = []
    extensions = Extensions(failures.append)
    try:
        extensions.load(str(path), load_extension(path), beside=load_built_in(extensions))
        added = [line for scope in extensions.scopes([str(path)]) for line in added_by(scope)]
    finally:
        extensions.close()
    return [f"{path}: loaded", *(f"  {line}" for line in added or ["registers nothing"]), *failures]


def _described(path: Path, candidate: Candidate) -> list[str]:
    wanted = candidate.permissions.sentences if candidate.permissions is not None else ()
    return [f"{path}: kaa starts it with a conversation", f"  asks for: {'; '.join(wanted) or 'no permissions'}"]
