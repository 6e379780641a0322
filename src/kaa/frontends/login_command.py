"""`kaa login`, `kaa logout` and `kaa auth`: keep keys and logins in auth.json, once the provider has accepted them."""

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Sequence

from kaa.builtin.columns import aligned
from kaa.core.errors import ProviderError
from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.json_text import encoded
from kaa.frontends.login_screen import TerminalLoginScreen
from kaa.llm.auth.errors import CredentialError, LoginError
from kaa.llm.models.verification import KeyVerdict
from kaa.shell.logins import CredentialCheck, LoginOption, Logins, Method
from kaa.shell.mistakes import MistakeError
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize

_LONGEST_KEY_BYTES = 64 * 1024
_DESCRIPTION = """\
Keep the API key of a provider, or log in to it. Keys are asked for without showing them, or read
from standard input; they are checked with the provider before they are kept.
"""
_EXAMPLES = """\
examples:
  kaa login                         choose the provider from a list
  kaa login anthropic
  pass show llm/openai | kaa login openai
  kaa login lab --device            with a browser on another machine
"""
_ABOUT_CHECK = "`kaa auth check`: says of every key and login whether it works. Shows none of them."


def login(arguments: Sequence[str]) -> int:
    """Run `kaa login`. Returns the exit code."""
    parser = CommandParser(
        "kaa login",
        _DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("provider", nargs="?", help="such as anthropic, openai, or one of models.json")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--key", dest="method", action="store_const", const="key", help="with an API key")
    how.add_argument("--browser", dest="method", action="store_const", const="browser", help="in the browser")
    how.add_argument(
        "--device", dest="method", action="store_const", const="device", help="with a code, in a browser anywhere"
    )
    parsed = parser.parse_args(arguments)
    return _told(lambda logins: _login(logins, parsed.provider, parsed.method))


def logout(arguments: Sequence[str]) -> int:
    """Run `kaa logout`. Returns the exit code."""
    parser = CommandParser("kaa logout", "Remove the stored key or login of a provider.", ("kaa logout anthropic",))
    parser.add_argument("provider", nargs="?", help="whose; it may be left out if there is only one")
    parsed = parser.parse_args(arguments)
    return _told(lambda logins: _logout(logins, parsed.provider))


def _told(work: Callable[[Logins], int]) -> int:
    """Do something with the logins; what goes wrong is told in a line."""
    try:
        return work(Logins.of(os.environ))
    except (_UsageError, MistakeError) as error:
        _say(f"kaa: {error}")
        return ExitCode.USAGE
    except (CredentialError, ProviderError, SettingsError) as error:
        _say(f"kaa: {error}")
        return ExitCode.FAILED
    except (KeyboardInterrupt, EOFError):
        _say("")
        return ExitCode.INTERRUPTED


def _login(logins: Logins, provider: str | None, method: Method | None) -> int:
    option = logins.option(provider) if provider else _chosen(logins.options())
    method = method or _usual(option)
    if method not in option.methods:
        ways = " or ".join(f"--{name}" for name in option.methods)
        raise _UsageError(f"{option.provider} has no login of this kind: use {ways}")
    if method != "key":
        return _with_screen(logins, option.provider, method)
    return _with_key(logins, option.provider)


def _with_key(logins: Logins, provider: str) -> int:
    key = _key(provider)
    verdicts: list[KeyVerdict] = []

    async def check() -> int:
        try:
            verdicts.append(await logins.check_key(provider, key))
        except (LoginError, CredentialError) as error:
            _say(f"kaa: {error}")
            return ExitCode.FAILED
        return ExitCode.DONE

    if (code := run_to_exit_code(check())) != ExitCode.DONE:
        return code
    verdict = verdicts[0]
    if verdict.state in ("refused", "expired"):
        _say(f"kaa: {verdict.said}\nThe key was not kept.")
        return ExitCode.FAILED
    if verdict.state == "unreachable" and not _keep_unchecked(verdict.said):
        _say("The key was not kept.")
        return ExitCode.FAILED
    logins.keep_key(provider, key)
    if verdict.said and verdict.state != "unreachable":
        _say(f"Note: {verdict.said}")
    result = "and works" if verdict.state == "works" else "without a check"
    deliver(sys.stdout, sanitize(f"The key of {provider} is saved {result}.\n"))
    return ExitCode.DONE


def _with_screen(logins: Logins, provider: str, method: Method) -> int:
    async def log_in() -> int:
        assert method != "key"
        try:
            await logins.log_in(provider, method, TerminalLoginScreen())
        except (ProviderError, CredentialError) as error:
            _say(f"kaa: {error}")
            return ExitCode.FAILED
        deliver(sys.stdout, sanitize(f"You are logged in to {provider}.\n"))
        return ExitCode.DONE

    return run_to_exit_code(log_in())


def _logout(logins: Logins, provider: str | None) -> int:
    if provider is None:
        stored = logins.stored()
        if len(stored) != 1:
            raise _UsageError(f"say which: {', '.join(stored)}" if stored else "auth.json has no key and no login")
        provider = stored[0]
    left = logins.log_out(provider)
    deliver(sys.stdout, sanitize(f"The key or login of {provider} was removed.\n"))
    if left:
        _say(f"Note: {provider} still has a key, in {left}.")
    return ExitCode.DONE


def _chosen(options: Sequence[LoginOption]) -> LoginOption:
    """The provider that the person chooses from a list."""
    if not sys.stdin.isatty():
        raise _UsageError(f"say which provider, as in  kaa login {options[0].provider}")
    for number, option in enumerate(options, 1):
        _say(f"{number:>3}  {option.provider}" + (f"  ({option.source})" if option.source else ""))
    _say("Which? A number or a name: ", end="")
    answer = sys.stdin.readline().strip()
    if not answer:
        raise EOFError
    for number, option in enumerate(options, 1):
        if answer in (str(number), option.provider):
            return option
    raise _UsageError(f"there is no {answer!r} in the list")


def _usual(option: LoginOption) -> Method:
    """What somebody means who does not say how: a key that is piped in, or else the best way there is here."""
    if "key" in option.methods and not sys.stdin.isatty():
        return "key"
    has_screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if "device" in option.methods and (os.environ.get("SSH_CONNECTION") or not has_screen):
        return "device"
    return option.methods[0]


def _key(provider: str) -> str:
    if sys.stdin.isatty():
        key = getpass.getpass(f"API key of {provider} (it is not shown): ").strip()
    else:
        key = sys.stdin.buffer.read(_LONGEST_KEY_BYTES).decode("utf-8", "replace").strip()
    if not key:
        raise _UsageError(
            "no key was given"
            if sys.stdin.isatty()
            else f"there is no terminal to ask on, and nothing came from standard input: pipe the key into  kaa login "
            f"{provider}"
        )
    return key


def _keep_unchecked(why: str) -> bool:
    """Whether a key is to be kept that could not be checked; without anybody to ask, it is."""
    _say(f"The key could not be checked: {why}")
    if not sys.stdin.isatty():
        return True
    _say("Keep it anyway? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(text: str, end: str = "\n") -> None:
    deliver(sys.stderr, sanitize(text) + end)


class _UsageError(Exception):
    """The command cannot be carried out as it was given."""


def auth(arguments: Sequence[str]) -> int:
    """Run `kaa auth`. Returns 0 if all keys and logins work, 1 if not, or if there are none."""
    parser = CommandParser("kaa auth", "Look after keys and logins.", ("kaa auth check", "kaa auth check --json"))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    about = "ask the providers whether they work"
    check = commands.add_parser("check", help=about, description=_ABOUT_CHECK, examples=("kaa auth check",))
    check.add_argument("--json", action="store_true", help="print one JSON array")
    parsed = parser.parse_args(arguments)
    try:
        logins = Logins.of(os.environ)
    except SettingsError as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE
    return run_to_exit_code(_check_all(logins, as_json=parsed.json))


async def _check_all(logins: Logins, *, as_json: bool) -> int:
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
