"""`kaa ext doctor`: loads the extensions as a session would, and reports on each of them."""

import argparse
import asyncio
import os
import sys

import msgspec

from kaa.builtin.amounts import counted
from kaa.builtin.extensions_command import lines_about
from kaa.core.messages import Json
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import facts, printable
from kaa.frontends.json_text import json_line
from kaa.shell.extensions.checkup import Checkup, check_extensions
from kaa.shell.extensions.errors import UnknownNameError
from kaa.shell.home import Home


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="report on these extensions only")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def run_doctor(parsed: argparse.Namespace, home: Home) -> int:
    """Check. Returns the exit code: 1 if there is a problem.

    Raises:
        InstallationError: there is no such extension, or the records cannot be read.
    """
    found = asyncio.run(check_extensions(home, os.environ, parsed.directory))
    known = {one.extension.name for one in found.extensions}
    if unknown := [name for name in parsed.names if name not in known]:
        names = ", ".join(sorted(known)) or "none"
        raise UnknownNameError(f"there is no extension {unknown[0]!r}: there are {names}")
    checked = [one for one in found.extensions if not parsed.names or one.extension.name in parsed.names]
    if parsed.json:
        deliver(sys.stdout, "".join(json_line(_object(one)) for one in checked))
    else:
        lines = [line for one in checked for line in _lines(one)] or ["no extensions are installed"]
        deliver(sys.stdout, printable([*lines, *(f"kaa: {notice}" for notice in found.notices)]))
    if found.failure:
        deliver(sys.stderr, printable([f"kaa: kaa opens no conversation: {found.failure}"]))
    return ExitCode.FAILED if found.failure or any(one.problems for one in checked) else ExitCode.DONE


def _lines(one: Checkup) -> list[str]:
    lines = lines_about(one.report)
    if one.is_permitted is not None:
        word = "permitted" if one.is_permitted else "not permitted"
        lines.append(f"  {word}: {'; '.join(one.asks_for) or 'nothing but its own data'}")
    lines += [f"  {problem}" for problem in one.problems if problem not in (one.report.problem, *one.report.refused)]
    return [*lines, f"  {counted(len(one.problems), 'problem')}" if one.problems else "  ok"]


def _object(one: Checkup) -> dict[str, Json]:
    """As JSON. What a session says of the extension is in `session`."""
    session = msgspec.to_builtins(one.report)
    return {
        **facts(one.extension),
        "version": one.report.version or facts(one.extension)["version"],
        "asksFor": list(one.asks_for),
        "permitted": one.is_permitted,
        "startMilliseconds": round(session.pop("load_seconds") * 1000, 1),
        "session": {_camel(name): value for name, value in session.items() if name not in _ELSEWHERE},
        "problems": list(one.problems),
    }


_ELSEWHERE = ("name", "path", "kind", "version", "problem", "refused")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
