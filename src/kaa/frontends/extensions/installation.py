"""`kaa ext install`: shows what will be installed, asks once, installs."""

import argparse
import os
import sys

from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import change_lines, preview_lines, printable
from kaa.shell.extensions.changes import changes
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.installer import Installer, PreparedExtension
from kaa.shell.extensions.sources import parse_source
from kaa.shell.home import Home
from kaa.tui.sanitize import sanitize

_EPILOG = """\
sources:
  ./FOLDER, FILE.py, FILE.wasm, FILE.whl          a copy; --link uses the path itself
  git+https://HOST/REPOSITORY@TAG                 one commit; also git+ssh:// and git+file://
  git+https://…@TAG#subdirectory=FOLDER           a folder of the repository
  NAME, NAME==VERSION                             wheels of the package index that pip uses

Installing executes nothing of the extension. kaa loads it at its next start.
"""


def add_install_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("source", metavar="SOURCE", help="where the extension comes from, see below")
    parser.add_argument("--link", action="store_true", help="use the path itself, for development")
    parser.add_argument("--diff", action="store_true", help="show the changed lines of a newer version")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run_install(parsed: argparse.Namespace, home: Home) -> int:
    """Install. Returns the exit code.

    Raises:
        InstallationError: it cannot be installed.
    """
    installer = Installer(home, os.environ)
    with installer.prepare(parse_source(parsed.source, parsed.directory), link=parsed.link) as prepared:
        show(prepared, with_diff=parsed.diff)
        word = "Replace" if prepared.replaces is not None else "Install"
        if not parsed.yes and not confirmed(f"{word} {prepared.name}?"):
            deliver(sys.stderr, "nothing is installed\n")
            return ExitCode.DENIED
        installer.install(prepared, prepared.candidate.permissions)
    deliver(sys.stdout, f"installed {sanitize(prepared.name)}; kaa loads it at its next start\n")
    return ExitCode.DONE


def show(prepared: PreparedExtension, *, with_diff: bool) -> None:
    """Print what will be installed, and what that changes.

    Raises:
        InstallationError: the files cannot be read.
    """
    lines = preview_lines(prepared)
    if prepared.replaces is not None:
        try:
            difference = changes(prepared.replaces, prepared.staged)
        except OSError as error:
            raise InstallationError(f"{error.filename} cannot be read ({error.strerror})") from error
        lines += change_lines(prepared, difference, with_diff=with_diff)
    deliver(sys.stdout, printable(lines))
