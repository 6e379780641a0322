"""`kaa ext permit`: shows what a process or a component asks for, asks once, and keeps the answer."""

import argparse
import os
import sys
from pathlib import Path

from kaa.ext.places import ExtensionId
from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import printable
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.permitting import GrantedPermissions, applicant_at
from kaa.shell.home import Home
from kaa.tui.sanitize import sanitize


def add_permit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of a process or a component, or the path of its folder")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run_permit(parsed: argparse.Namespace, home: Home) -> int:
    """Permit. Returns the exit code.

    Raises:
        ExtensionError: the manifest cannot be read, or the answer cannot be kept.
        NobodyAnswersError: nobody can be asked.
    """
    folder = Path(parsed.name) if os.sep in parsed.name else home.extensions / parsed.name
    path = Path(parsed.directory, folder)
    if not path.exists():
        raise InstallationError(f"there is no extension {parsed.name!r}: kaa ext list shows those there are")
    extension = ExtensionId.at(path, home.extensions)
    applicant = applicant_at(extension)
    if applicant is None:
        raise InstallationError(
            f"{extension} is an extension in Python, which runs with your rights: it needs no permission"
        )
    permissions = GrantedPermissions(home)
    if permissions.of(applicant) is not None:
        deliver(sys.stdout, f"{sanitize(extension.name)} already has what it asks for\n")
        return ExitCode.DONE
    deliver(sys.stdout, printable(permissions.details(applicant).splitlines()))
    if not parsed.yes and not confirmed(f"Permit {extension.name}?"):
        deliver(sys.stderr, "nothing is permitted\n")
        return ExitCode.DENIED
    permissions.grant(applicant)
    deliver(sys.stdout, f"permitted {sanitize(extension.name)}\n")
    return ExitCode.DONE
