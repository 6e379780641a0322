"""`kaa auth check`: says of every key and login whether it works. Shows none of them."""

import os
import sys
from collections.abc import Sequence

from kaa.builtin.columns import aligned
from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.json_text import encoded
from kaa.shell.logins import CredentialCheck, Logins
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize


def main(arguments: Sequence[str]) -> int:
    """Run `kaa auth`. Returns 0 if all keys and logins work, 1 if not, or if there are none."""
    parser = CommandParser("kaa auth", "Look after keys and logins.", ("kaa auth check", "kaa auth check --json"))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    about = "ask the providers whether they work"
    check = commands.add_parser("check", help=about, description=__doc__, examples=("kaa auth check",))
    check.add_argument("--json", action="store_true", help="print one JSON array")
    parsed = parser.parse_args(arguments)
    try:
        logins = Logins.of(os.environ)
    except SettingsError as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE
    return run_to_exit_code(_check(logins, as_json=parsed.json))


async def _check(logins: Logins, *, as_json: bool) -> int:
    for problem in logins.problems:
        deliver(sys.stderr, f"kaa: {sanitize(problem)}\n")
    found = await logins.check()
    if as_json:
        deliver(sys.stdout, encoded(found).decode() + "\n")
    elif found:
        deliver(sys.stdout, sanitize(_report(found)) + "\n")
    else:
        deliver(sys.stderr, "kaa: there is no key and no login. kaa login keeps one.\n")
    return ExitCode.DONE if found and all(one.state == "works" for one in found) else ExitCode.FAILED


def _report(found: Sequence[CredentialCheck]) -> str:
    rows = [(one.provider or "-", one.state, one.source) for one in found]
    said = [one.said for one in found]
    lines: list[str] = []
    for line, why in zip(aligned(rows, left=3), said, strict=True):
        lines.append(line)
        lines += [f"  {part}" for part in why.splitlines()]
    return "\n".join(lines)
