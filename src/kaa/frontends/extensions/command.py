"""`kaa ext`: its subcommands, and the shorter ones themselves."""

import argparse
import sys
from collections.abc import Callable, Sequence

from kaa.ext.errors import ExtensionError
from kaa.frontends.confirming import NobodyAnswersError
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.doctor import add_doctor_arguments, run_doctor
from kaa.frontends.extensions.permitting import add_permit_arguments, run_permit
from kaa.frontends.extensions.report import facts, list_lines, printable
from kaa.frontends.extensions.scaffold import add_new_arguments, run_new
from kaa.frontends.extensions.testing import add_test_arguments, run_test
from kaa.frontends.extensions.updating import add_install_arguments, add_update_arguments, run_install, run_update
from kaa.frontends.json_text import json_line
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.installed import InstalledExtensions
from kaa.shell.home import Home
from kaa.shell.trust.configuration import TrustError
from kaa.tui.sanitize import sanitize


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa ext`. Returns the exit code."""
    failures = (InstallationError, NobodyAnswersError, ExtensionError, TrustError, OSError)
    return run_subcommand("ext", "Install and examine extensions.", SUBCOMMANDS, failures, arguments, directory)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def _list(parsed: argparse.Namespace, home: Home) -> int:
    found = InstalledExtensions(home).all()
    if parsed.json:
        deliver(sys.stdout, "".join(json_line(facts(one)) for one in found))
    elif found:
        deliver(sys.stdout, printable(list_lines(found)))
    else:
        deliver(sys.stderr, f"kaa: there are no extensions in {sanitize(str(home.extensions))}\n")
    return ExitCode.DONE


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="of an extension, as kaa ext list shows it")


def _add_remove(parser: argparse.ArgumentParser) -> None:
    _add_names(parser)
    parser.add_argument("--data", action="store_true", help="remove what the extensions keep, too")


def _remove(parsed: argparse.Namespace, home: Home) -> int:
    for name in parsed.names:
        kept = InstalledExtensions(home).remove(name, with_data=parsed.data)
        deliver(sys.stdout, f"removed {sanitize(name)}\n")
        if kept is not None:
            deliver(sys.stdout, sanitize(f"its data stays in {kept}: --data removes it, or remove the folder\n"))
    return ExitCode.DONE


def _switch(*, enabled: bool) -> Callable[[argparse.Namespace, Home], int]:
    def run(parsed: argparse.Namespace, home: Home) -> int:
        word = "enabled" if enabled else "disabled"
        for name in parsed.names:
            changed = InstalledExtensions(home).enable(name, enabled=enabled)
            deliver(sys.stdout, f"{sanitize(name)} {'is' if changed else 'was already'} {word}\n")
        return ExitCode.DONE

    return run


SUBCOMMANDS = {
    "new": Subcommand("write the beginning of an extension", "hello", add_new_arguments, run_new),
    "list": Subcommand("list the installed extensions", "--json", _add_json, _list),
    "install": Subcommand(
        "install an extension from a path, a git repository or the package index",
        "git+https://github.com/ada/kaa-notes",
        add_install_arguments,
        run_install,
    ),
    "update": Subcommand(
        "install the newest versions from the same sources", "notes", add_update_arguments, run_update
    ),
    "remove": Subcommand("remove extensions", "notes", _add_remove, _remove),
    "enable": Subcommand("load extensions again that were disabled", "notes", _add_names, _switch(enabled=True)),
    "disable": Subcommand("keep extensions, but do not load them", "notes", _add_names, _switch(enabled=False)),
    "permit": Subcommand("permit what extension processes ask for", "notes", add_permit_arguments, run_permit),
    "test": Subcommand(
        "load an extension as a session does, and run its tests", "./notes", add_test_arguments, run_test
    ),
    "doctor": Subcommand(
        "load the extensions as a session does, and report costs and problems",
        "notes",
        add_doctor_arguments,
        run_doctor,
    ),
}
