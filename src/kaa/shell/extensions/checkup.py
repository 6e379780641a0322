"""What `kaa ext doctor` finds: the figures of a session for each extension, and what is wrong with its files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kaa.ext.errors import ExtensionError
from kaa.ext.places import ExtensionId, discover, kind_of
from kaa.ext.reports import ExtensionReport, ExtensionState
from kaa.shell.extensions.installed import InstalledExtension, InstalledExtensions
from kaa.shell.extensions.permitting import GrantedPermissions, applicant_at
from kaa.shell.extensions.records import ExtensionRecord
from kaa.shell.extensions.trial import Trial, try_extensions
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.options import HostOptions


class Checkup(msgspec.Struct, frozen=True):
    """One extension.

    Attributes:
        extension: its place and its record.
        report: what a session says of it.
        asks_for: what a process or component asks for, in phrases.
        is_permitted: whether the user permitted that; None for Python, which asks for nothing.
        problems: what is wrong, in sentences with the remedy.
    """

    extension: InstalledExtension
    report: ExtensionReport
    asks_for: tuple[str, ...]
    is_permitted: bool | None
    problems: tuple[str, ...]


class Checkups(msgspec.Struct, frozen=True):
    """All extensions.

    Attributes:
        failure: why kaa opens no conversation with them; empty if it does.
        notices: what kaa said about the conversation.
    """

    extensions: tuple[Checkup, ...]
    failure: str = ""
    notices: tuple[str, ...] = ()


async def check_extensions(home: Home, environ: Mapping[str, str], directory: str) -> Checkups:
    """Load the extensions as a session in this directory would, and look for problems.

    Raises:
        InstallationError: the records cannot be read.
        Exception: as `try_extensions` says.
    """
    installed = InstalledExtensions(home)
    found = installed.all()
    trial = await try_extensions(HostOptions(), home, environ, directory)
    known = {str(one.path): one for one in found}
    checked = [_checked(known.get(one.path) or _elsewhere(one), one, installed, home) for one in trial.reports]
    tried = {one.path for one in trial.reports}
    checked += [
        _checked(
            one, ExtensionReport(one.name, str(one.path or ""), one.kind or "", "", "", _state(one)), installed, home
        )
        for one in found
        if str(one.path) not in tried
    ]
    checked += [_checked(_elsewhere(one), one, installed, home) for one in _untrusted(trial, directory)]
    return Checkups(tuple(checked), trial.failure, trial.notices)


def _checked(
    extension: InstalledExtension, report: ExtensionReport, installed: InstalledExtensions, home: Home
) -> Checkup:
    problems = [report.problem] if report.problem else []
    problems += [*report.refused, *installed.problems(extension)]
    asks_for: tuple[str, ...] = ()
    is_permitted = None
    try:
        if (
            extension.path is not None
            and (applicant := applicant_at(ExtensionId.at(extension.path, home.extensions))) is not None
        ):
            asks_for = tuple(applicant.requested.sentences)
            is_permitted = GrantedPermissions(home).of(applicant) is not None
    except ExtensionError as error:
        problems += [str(error)] if not problems else []
    return Checkup(extension, report, asks_for, is_permitted, tuple(problems))


def _elsewhere(report: ExtensionReport) -> InstalledExtension:
    """An extension that is not in the folder of the home."""
    path = Path(report.path)
    return InstalledExtension(report.name, path, kind_of(path), ExtensionRecord())


def _state(extension: InstalledExtension) -> ExtensionState:
    return "not loaded" if extension.record.enabled else "disabled"


def _untrusted(trial: Trial, directory: str) -> Sequence[ExtensionReport]:
    """The extensions of the project that no session loads, because the user does not trust the project."""
    trusted = {Path(one.path).name for one in trial.reports if one.source == "project"}
    return [
        ExtensionReport(ExtensionId.at(path).name, str(path), kind_of(path) or "", "project", "", "not trusted")
        for path in discover(Path(directory, PROJECT_FOLDER, "extensions"))
        if path.name not in trusted
    ]
