"""`kaa ext install` and `kaa ext update`: show what will be installed, or changes, ask once, install.

Metadata of wheels is not shown as a change: nothing executes it.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from kaa.ext.permissions import Permissions
from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import change_lines, preview_lines, printable
from kaa.host.regular_files import read_regular
from kaa.shell.extensions.digest import files_in
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.installed import InstalledExtension, InstalledExtensions
from kaa.shell.extensions.installer import Installer, PreparedExtension
from kaa.shell.extensions.records import Installation
from kaa.shell.extensions.sources import IndexSource, Source, parse_source, recorded_source
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ConfigurationFile
from kaa.shell.trust.difference import Difference, difference, known
from kaa.tui.sanitize import sanitize

_EPILOG = """\
sources:
  ./FOLDER, FILE.py, FILE.wasm, FILE.whl          a copy; --link uses the path itself
  git+https://HOST/REPOSITORY@TAG                 one commit; also git+ssh:// and git+file://
  git+https://…@TAG#subdirectory=FOLDER           a folder of the repository
  NAME, NAME==VERSION                             wheels of the package index that pip uses

Installing executes nothing of the extension. kaa loads it at its next start.
"""
# PyPA specification "Recording installed projects".
_METADATA = re.compile(r"\.library/[^/]+\.dist-info/(INSTALLER|METADATA|RECORD|REQUESTED|WHEEL|top_level\.txt)")
_MAX_SHOWN_BYTES = 1024 * 1024  # what `difference` shows of a file at most


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


def changes(before: Path, after: Path) -> Difference:
    """How the files of two versions differ.

    Raises:
        OSError: one of them cannot be read.
    """
    old = {file.path: known(file) for file in _files(before)}
    return difference(old, _files(after))


def _files(top: Path) -> tuple[ConfigurationFile, ...]:
    return tuple(_file(top, name) for name in files_in(top) if not _METADATA.fullmatch(name))


def _file(top: Path, name: str) -> ConfigurationFile:
    path = top / name
    if path.is_symlink() and name != ".":
        return ConfigurationFile(name, "link", os.fsencode(os.readlink(path)))
    status = path.stat()
    if status.st_size > _MAX_SHOWN_BYTES:
        import hashlib  # lazy, as in `digest`

        with path.open("rb") as content:  # no text: that it is too long is said
            data = bytes(64) + hashlib.file_digest(content, "sha256").digest()
    else:
        data = read_regular(path)
    return ConfigurationFile(name, "file", data, bool(status.st_mode & 0o100))
