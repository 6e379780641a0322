"""`kaa ext permit`: shows what a process or a component asks for, asks once, and keeps the answer."""

import argparse
import os
import sys
from pathlib import Path

from kaa.ext.permissions import Applicant
from kaa.ext.places import kind_of
from kaa.ext.process.manifest import read_manifest
from kaa.ext.wasm.description import find_component
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import printable
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.permitting import GrantedPermissions
from kaa.shell.home import Home
from kaa.tui.sanitize import sanitize


def add_permit_arguments(parser: argparse.ArgumentParser) -> None:
    """Of `kaa ext permit`."""
    parser.add_argument("name", metavar="NAME", help="of a process or a component, or the path of its folder")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run_permit(parsed: argparse.Namespace, home: Home) -> int:
    """Permit. Returns the exit code.

    Raises:
        ExtensionError: the manifest cannot be read, or the answer cannot be kept.
        InstallationError: nobody can be asked.
    """
    folder = Path(parsed.name) if os.sep in parsed.name else home.extensions / parsed.name
    path = Path(os.path.abspath(Path(parsed.directory, folder)))
    extension: Applicant = find_component(path) if kind_of(path) == "component" else read_manifest(path)
    permissions = GrantedPermissions(home)
    if permissions.of(extension) is not None:
        deliver(sys.stdout, f"{sanitize(extension.name)} already has what it asks for\n")
        return ExitCode.DONE
    deliver(sys.stdout, printable(permissions.details(extension).splitlines()))
    if not parsed.yes and not _confirmed(extension.name):
        deliver(sys.stderr, "nothing is permitted\n")
        return ExitCode.DENIED
    permissions.grant(extension)
    deliver(sys.stdout, f"permitted {sanitize(extension.name)}\n")
    return ExitCode.DONE


def _confirmed(name: str) -> bool:
    if not sys.stdin.isatty():
        raise InstallationError("nobody can be asked: give --yes to permit it without a question")
    deliver(sys.stderr, f"Permit {sanitize(name)}? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
