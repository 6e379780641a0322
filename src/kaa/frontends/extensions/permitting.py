"""`kaa ext permit`: shows what an extension process asks for, asks once, and keeps the answer."""

import argparse
import os
import sys
from pathlib import Path

from kaa.ext.process.manifest import read_manifest
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import printable
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.permitting import GrantedPermissions
from kaa.shell.home import Home
from kaa.tui.sanitize import sanitize


def add_permit_arguments(parser: argparse.ArgumentParser) -> None:
    """Of `kaa ext permit`."""
    parser.add_argument("name", metavar="NAME", help="of an extension with a manifest.yaml, or the path of its folder")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run_permit(parsed: argparse.Namespace, home: Home) -> int:
    """Permit. Returns the exit code.

    Raises:
        ExtensionError: the manifest cannot be read, or the answer cannot be kept.
        InstallationError: nobody can be asked.
    """
    folder = Path(parsed.name) if os.sep in parsed.name else home.extensions / parsed.name
    manifest = read_manifest(Path(os.path.abspath(Path(parsed.directory, folder))))
    permissions = GrantedPermissions(home)
    if permissions.of(manifest) is not None:
        deliver(sys.stdout, f"{sanitize(manifest.name)} already has what it asks for\n")
        return ExitCode.DONE
    deliver(sys.stdout, printable(permissions.details(manifest).splitlines()))
    if not parsed.yes and not _confirmed(manifest.name):
        deliver(sys.stderr, "nothing is permitted\n")
        return ExitCode.DENIED
    permissions.grant(manifest)
    deliver(sys.stdout, f"permitted {sanitize(manifest.name)}\n")
    return ExitCode.DONE


def _confirmed(name: str) -> bool:
    if not sys.stdin.isatty():
        raise InstallationError("nobody can be asked: give --yes to permit it without a question")
    deliver(sys.stderr, f"Permit {sanitize(name)}? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
