"""`kaa sessions export`, `kaa sessions import`, `kaa --export`: sessions into files and back, with no conversation."""

import argparse
import os
import sys
from pathlib import Path

from kaa.frontends.delivery import deliver, while_delivered
from kaa.frontends.exit_codes import ExitCode, of_session_error
from kaa.frontends.session_commands import add_session_dir, sessions_of
from kaa.session.errors import SessionError
from kaa.session.export.request import ExportError, ExportRequest
from kaa.session.export.source import SnapshotFile
from kaa.shell.exporting import export_session, import_file, redactor_of
from kaa.shell.home import Home, session_folder
from kaa.shell.settings import SettingsError, load_user_settings
from kaa.tui.sanitize import sanitize


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `kaa sessions export`."""
    parser.add_argument("session", metavar="ID|PATH", help="the session: a file, or the beginning of an id")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; a name of the session's by default")
    parser.add_argument(
        "--format", choices=["html", "markdown", "jsonl"], help="by default what the name of FILE says, or html"
    )
    branches = parser.add_mutually_exclusive_group()
    branches.add_argument(
        "--all-branches", dest="all_branches", action="store_true", default=None, help="what was left too"
    )
    branches.add_argument("--one-branch", dest="all_branches", action="store_false", help="only the current branch")
    parser.add_argument("--no-thinking", action="store_true", help="without what the model thought")
    parser.add_argument("--no-tools", action="store_true", help="without calls of tools and their results")
    parser.add_argument("--redact", action="store_true", help="without secrets")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    add_session_dir(parser)


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `kaa sessions import`."""
    parser.add_argument("file", metavar="FILE", help="a session file of kaa's or pi's, of any version")
    add_session_dir(parser)


def run_export(parsed: argparse.Namespace) -> int:
    """Do what `kaa sessions export` says. Returns the exit code."""
    request = ExportRequest(
        target=parsed.output,
        format=parsed.format,
        all_branches=parsed.all_branches,
        thinking=not parsed.no_thinking,
        tools=not parsed.no_tools,
        redact=parsed.redact,
        force=parsed.force,
    )
    return _export(parsed.session, request, parsed.directory, parsed.session_dir)


def run_import(parsed: argparse.Namespace) -> int:
    """Do what `kaa sessions import` says. Returns the exit code."""
    return _import(parsed.file, parsed.directory, parsed.session_dir)


def main(session: str, target: str | None, directory: str, session_dir: str | None) -> int:
    """Do what `kaa --export SESSION [FILE]` says. Returns the exit code."""
    return while_delivered(lambda: _export(session, ExportRequest(target=target), directory, session_dir))


def _export(session: str, request: ExportRequest, directory: str, session_dir: str | None) -> int:
    try:
        home = Home.of(os.environ)
        path = sessions_of(directory, session_dir).resolve(session)
        with SnapshotFile.open(path) as source:
            exported = export_session(source, request, Path(directory), lambda: redactor_of(os.environ, home))
    except (SessionError, ExportError, SettingsError) as error:
        return _failed(error)
    return _done(exported.report)


def _import(file: str, directory: str, session_dir: str | None) -> int:
    try:
        home = Home.of(os.environ)
        chosen = session_folder(session_dir, load_user_settings(home.settings).session_dir)
        imported = import_file(file, directory, home, chosen)
    except (SessionError, SettingsError) as error:
        return _failed(error)
    return _done(f"{imported.report}\nresume it: kaa --session {imported.header.id}")


def _done(report: str) -> int:
    deliver(sys.stdout, (sanitize(report) if sys.stdout.isatty() else report) + "\n")
    return ExitCode.DONE


def _failed(error: Exception) -> int:
    sys.stderr.write(f"kaa: {sanitize(str(error))}\n")
    if isinstance(error, SessionError):
        return of_session_error(error)
    return ExitCode.USAGE if isinstance(error, SettingsError) else ExitCode.FAILED
