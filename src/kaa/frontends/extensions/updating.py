"""`kaa ext update`: installs the newest version of an extension from where it came, with its changes shown."""

import argparse
import os
import sys

from kaa.ext.permissions import Permissions
from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.installation import show
from kaa.frontends.extensions.report import printable
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.installed import InstalledExtension, InstalledExtensions
from kaa.shell.extensions.installer import Installer, PreparedExtension
from kaa.shell.extensions.records import Installation
from kaa.shell.extensions.sources import IndexSource, Source, recorded_source
from kaa.shell.home import Home


def add_update_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these extensions")
    parser.add_argument(
        "-y", "--yes", action="store_true", help="do not ask, unless a version asks for more permissions"
    )


def run_update(parsed: argparse.Namespace, home: Home) -> int:
    """Update. One extension that fails keeps its version, and no other from its update. Returns the exit code.

    Raises:
        InstallationError: there is no such extension.
    """
    extensions = InstalledExtensions(home)
    found = [extensions.get(name) for name in parsed.names] or [
        one for one in extensions.all() if one.record.installation is not None
    ]
    codes = [ExitCode.DONE]
    for one in found:
        try:
            codes.append(_updated(one, Installer(home, os.environ), is_agreed=parsed.yes))
        except InstallationError as error:
            deliver(sys.stderr, printable([f"kaa: {one.name} is not updated: {error}"]))
            codes.append(ExitCode.FAILED)
    return ExitCode.FAILED if ExitCode.FAILED in codes else max(codes)


def _updated(extension: InstalledExtension, installer: Installer, *, is_agreed: bool) -> ExitCode:
    name, installation = extension.name, extension.record.installation
    if installation is None:
        raise InstallationError("it was not installed with kaa ext install, so its source is not known")
    if installation.origin == "link":
        deliver(sys.stdout, printable([f"{name} is a link: kaa loads {installation.source} itself"]))
        return ExitCode.DONE
    with installer.prepare(_source(installation)) as prepared:
        if prepared.name != name:
            raise InstallationError(
                f"its new version is called {prepared.name}: install that with kaa ext install {installation.source}"
            )
        if not prepared.is_new:
            deliver(sys.stdout, printable([f"{name} is up to date"]))
            return ExitCode.DONE
        show(prepared, with_diff=True)
        if is_agreed and _grows(prepared):
            raise InstallationError(
                f"it asks for more permissions: run kaa ext update {name} on a terminal, without --yes"
            )
        if not is_agreed and not confirmed(f"Update {name}?"):
            deliver(sys.stderr, printable([f"{name} is not updated"]))
            return ExitCode.DENIED
        installer.install(prepared, prepared.candidate.permissions)
    deliver(sys.stdout, printable([f"updated {name}; kaa loads it at its next start"]))
    return ExitCode.DONE


def _source(installation: Installation) -> Source:
    """Where the newest version comes from."""
    source = recorded_source(installation)
    return source.newest if isinstance(source, IndexSource) else source


def _grows(prepared: PreparedExtension) -> bool:
    wanted, before = prepared.candidate.permissions, prepared.previous.installation
    if wanted is None:  # Python has the rights of the user
        return before is not None and before.kind != "python"
    return wanted.beyond(prepared.previous.granted or Permissions()) != Permissions()
