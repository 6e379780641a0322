"""From arguments to a frontend. Light on purpose: nothing heavy is imported before it is known to be needed."""

import argparse
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from kaa import __version__

if TYPE_CHECKING:
    from kaa.core.budget import Measure
    from kaa.frontends.command_line import CommandLineOptions
    from kaa.frontends.interactive.boot import TerminalOptions
    from kaa.shell.safety import SandboxFlags, UnopenedWorkspace
    from kaa.workspace.local import LocalWorkspace

_USAGE_ERROR = 2
_INFORMING = frozenset(("-h", "--help", "-v", "--version"))

_EPILOG = """\
commands (kaa COMMAND --help describes the options of each):
  agents              list, start, follow, steer and stop other conversations
  auth check          check API keys and logins with their providers
  demo                watch kaa fix a bug; needs no key
  doctor              show the models, MCP servers and sandbox of this machine
  ext                 install, list, test and create extensions
  import              import skills, commands and hooks of other agents
  lab                 run tasks with a model and compare settings
  login, logout       save an API key or log in to a provider; remove it
  mcp                 add, list, test and log in to MCP servers; serve tools
  models              list models with their capabilities and prices
  plan run FILE       carry out a plan that --plan wrote
  plugin              install plugins of Claude Code, Codex, Gemini CLI and pi
  sandbox -- COMMAND  run a command with the same confinement as kaa's own
  sessions            list, search, show, rename, export and trash sessions
  stats               show the usage of all sessions
  worktrees           list, compare, merge and remove worktrees

examples:
  kaa                                     start a conversation in the terminal
  kaa "fix the failing test"              start it with a message
  kaa -p "fix the failing test"           do one task, print the answer and exit
  git diff | kaa -p "review this"         put standard input before the message
  kaa -p @notes.md @screen.png "summarize"
  kaa -p -- "$TEXT"                       treat what follows as the message
  kaa -c -p "now document it"             continue the last session here
  kaa -r                                  choose a session to resume
  kaa --mode json -p "list the TODOs"     print one JSON event per line

exit codes:
  0 done              3 a tool call was denied   6 the budget is used up
  1 failed            4 a limit or a loop        7 the result was not verified
  2 invalid usage     5 no model                 128+N interrupted by signal N
"""


class _UsageError(Exception):
    """The arguments make no sense."""


_JSON_ELSEWHERE = ("--output-format", "--output", "--format", "--json")  # other agents' options for `--mode json`


class _Parser(argparse.ArgumentParser):
    """Says what was wrong in one line, without the wall of usage.

    Attributes:
        messages: the argument that commands with the same options take otherwise.
    """

    messages: argparse.Action

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message}. See {self.prog} --help.")


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Knows how wide the terminal is without `shutil`, which argparse would import with the first argument."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        try:
            width = int(columns) if columns.isdecimal() else os.get_terminal_size(1).columns
        except OSError:
            width = 80
        super().__init__(prog, width=max(40, width) - 2)


def _add_mode(parser: argparse.ArgumentParser) -> None:
    """Add what says how kaa works and what it writes."""
    mode = parser.add_argument_group("mode")
    mode.add_argument("-p", "--print", action="store_true", help="work on the messages, print the answer and exit")
    mode.add_argument(
        "--mode",
        choices=["text", "json", "rpc"],
        default="text",
        help="print text or JSON events; rpc: read JSON commands from stdin",
    )
    mode.add_argument(
        "--plan",
        metavar="FILE",
        type=_given,
        help="make a plan without changing anything, and write it to FILE; see `kaa plan run`",
    )
    mode.add_argument(
        "--patch", metavar="FILE", type=_given, help="with -p: write the changes to FILE as a patch for `git apply`"
    )
    mode.add_argument("--plain", action="store_true", help="print line by line, for screen readers")
    mode.add_argument("--fullscreen", action="store_true", help="start in full screen")
    mode.add_argument("--verbose", action="store_true", help="show the output of tools")
    mode.add_argument("-v", "--version", action="version", version=f"kaa {__version__}")
    mode.add_argument("-h", "--help", action="help", help="show this help")


def _parser() -> _Parser:
    parser = _Parser(
        prog="kaa",
        description="A coding agent for the terminal.",
        usage="%(prog)s [options] [message ...]\n       %(prog)s COMMAND [options]",
        epilog=_EPILOG,
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.messages = parser.add_argument(
        "messages", nargs="*", metavar="message", help="what to do; @path attaches a file or an image"
    )

    _add_mode(parser)

    model = parser.add_argument_group("model")
    model.add_argument(
        "--model",
        metavar="NAME",
        type=_given,
        help="model to use: provider/id, an id or a part of one; :level sets thinking",
    )
    model.add_argument(
        "--models",
        metavar="A,B*",
        type=_names,
        help="models to cycle through; * matches any text, :level sets thinking",
    )
    model.add_argument("--provider", metavar="NAME", type=_given, help="provider of the model")
    model.add_argument(
        "--api-key", metavar="KEY", type=_given, help="API key to use; visible in process lists, so prefer `kaa login`"
    )
    model.add_argument(
        "--thinking", choices=["off", "minimal", "low", "medium", "high", "xhigh", "max"], help="thinking level"
    )
    model.add_argument("--fallback", metavar="A,B", type=_names, help="models to try, in order, when one fails")
    model.add_argument("--list-models", nargs="?", const="", metavar="TEXT", help="list usable models and exit")

    session = parser.add_argument_group("session")
    which = session.add_mutually_exclusive_group()
    which.add_argument(
        "-c",
        "--continue",
        dest="continue_last",
        action="store_true",
        help="continue the last session of this directory",
    )
    which.add_argument("-r", "--resume", action="store_true", help="choose a session to resume from a list")
    which.add_argument(
        "--session", metavar="PATH|ID", type=_given, help="resume this session: a path, or the start or end of an id"
    )
    which.add_argument(
        "--session-id", metavar="ID", type=_session_id, help="resume the session with exactly this id, or create it"
    )
    which.add_argument("--fork", metavar="PATH|ID", type=_given, help="continue in a copy of this session")
    which.add_argument("--view", metavar="PATH|ID", type=_given, help="open this session read-only")
    which.add_argument("--no-session", action="store_true", help="do not save the session")
    session.add_argument("-n", "--name", metavar="NAME", type=_given, help="name the session")
    session.add_argument(
        "--export", metavar="PATH|ID", type=_given, help="export this session as HTML (to an optional file) and exit"
    )
    session.add_argument(
        "--worktree",
        nargs="?",
        const="",
        metavar="NAME",
        help="work in the git worktree with this name, or in a new one; see `kaa worktrees`",
    )
    session.add_argument("--session-dir", metavar="DIR", type=_given, help="directory of the sessions")

    tools = parser.add_argument_group("tools and prompt")
    tools.add_argument("-t", "--tools", metavar="A,B", type=_names, help="use only these tools; +A adds one")
    tools.add_argument("-xt", "--exclude-tools", metavar="A,B", type=_names, default=(), help="disable these tools")
    tools.add_argument("-nt", "--no-tools", action="store_true", help="disable all tools")
    tools.add_argument("-nbt", "--no-builtin-tools", action="store_true", help="use only tools of extensions")
    tools.add_argument(
        "-e",
        "--extension",
        metavar="PATH",
        type=_given,
        action="append",
        default=[],
        help="load an extension; can be repeated",
    )
    tools.add_argument("-ne", "--no-extensions", action="store_true", help="load no extensions but those of -e")
    tools.add_argument("--mcp-config", metavar="FILE", type=_file, help="also use the MCP servers in this file")
    tools.add_argument("--no-mcp", action="store_true", help="use no MCP servers")
    tools.add_argument("-nc", "--no-context-files", action="store_true", help="do not read AGENTS.md and CLAUDE.md")
    tools.add_argument(
        "--system-prompt", metavar="TEXT|FILE", help="replace the system prompt; a file by ./, ../, ~/, / or .md, .txt"
    )
    tools.add_argument(
        "--append-system-prompt", metavar="TEXT|FILE", action="append", default=[], help="append to the system prompt"
    )
    tools.add_argument("--max-turns", metavar="N", type=_positive, help="limit the number of requests to the model")

    _add_budget(parser)
    _add_safety(parser)

    wire = parser.add_argument_group("record and replay").add_mutually_exclusive_group()
    wire.add_argument("--record", metavar="FILE", type=_given, help="record all exchanges with the model in FILE")
    wire.add_argument(
        "--replay", metavar="FILE", type=_given, help="take the model's replies from FILE instead of the network"
    )
    return parser


def _add_budget(parser: argparse.ArgumentParser) -> None:
    budget = parser.add_argument_group("budget", "limits per run; exceeding one exits with 6")
    budget.add_argument("--max-cost", metavar="USD", type=_limit_of("cost"), help="US dollars, such as 0.50")
    budget.add_argument("--max-tokens", metavar="N", type=_limit_of("tokens"), help="tokens, such as 200k")
    budget.add_argument("--max-time", metavar="TIME", type=_limit_of("seconds"), help="time, such as 90s, 10m, 1.5h")


def _add_safety(parser: argparse.ArgumentParser) -> None:
    safety = parser.add_argument_group("safety")
    safety.add_argument(
        "--sandbox",
        choices=["read-only", "workspace-write", "full-access"],
        help="what commands can write: nothing, the project, or everything that you can",
    )
    safety.add_argument(
        "--net",
        metavar="NET",
        type=_given,
        help="network access: off, on, registries, or hosts such as github.com,*.x.org",
    )
    safety.add_argument(
        "--add-dir",
        metavar="DIR",
        type=_given,
        action="append",
        default=[],
        help="additional writable directory; can be repeated",
    )
    safety.add_argument("--no-git", action="store_true", help="make .git read-only: no commits")
    safety.add_argument(
        "--approvals",
        choices=["ask", "auto", "never", "step"],
        help="when to ask; with -p, calls that need approval are denied",
    )
    safety.add_argument(
        "--person-answers",
        action="store_true",
        help="with --mode rpc and mcp serve: a person answers, so approvals can allow calls outside the sandbox",
    )
    trust = safety.add_mutually_exclusive_group()
    trust.add_argument("--trust", action="store_true", help="trust the project's files for this run")
    trust.add_argument("--no-trust", action="store_true", help="do not trust the project's files for this run")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _file(text: str) -> str:
    if not os.path.isfile(os.path.expanduser(text)):
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return text


def _given(text: str) -> str:
    """A value that is not empty: an unset shell variable must not pass for a flag that was not given."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the value is empty")
    return text


def _session_id(text: str) -> str:
    from kaa.session.naming import is_session_id  # lazy: few give one

    if not is_session_id(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no session id: take letters, digits and ._- between them, 128 at most"
        )
    return text


def _limit_of(measure: "Measure") -> Callable[[str], float]:
    def limit(text: str) -> float:
        from kaa.core.budget import parse_amount  # lazy: few give one

        try:
            value = parse_amount(measure, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return int(value) if measure == "tokens" else value

    return limit


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _open_closed_streams() -> None:
    """Replace standard streams that are closed (`>&-`): files opened later would get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as we run


def _refuse(message: str, arguments: Sequence[str]) -> int:
    """Say on stderr, and in JSON mode in its last event too, why nothing is done."""
    if "--mode=json" in arguments or ("--mode", "json") in pairwise(arguments):
        from kaa.frontends.json_output import JsonOutput  # lazy: a mistake should be told at once otherwise

        JsonOutput(sys.stdout.buffer, sys.stderr).failure(message)
    else:
        from kaa.tui.sanitize import sanitize  # lazy, as above; the message repeats what was given

        sys.stderr.write(f"kaa: {sanitize(message)}\n")
    return _USAGE_ERROR


def _directory() -> str:
    """The current directory.

    Raises:
        SystemExit: it does not exist any more.
    """
    from kaa.host.process import current_directory  # lazy: not for `kaa --version`

    directory = current_directory()
    if directory is None:
        sys.stderr.write("kaa: the current directory does not exist any more; change to another one\n")
        raise SystemExit(_USAGE_ERROR)
    return directory


# Commands that are about the current directory: each module has `main(arguments, directory)`.
_IN_DIRECTORY = {
    "agents": "kaa.frontends.agents_command",
    "doctor": "kaa.frontends.doctor",
    "ext": "kaa.frontends.extensions.command",
    "import": "kaa.frontends.import_command",
    "lab": "kaa.frontends.lab.command",
    "mcp": "kaa.frontends.mcp.command",
    "plugin": "kaa.frontends.plugins.command",
    "sandbox": "kaa.frontends.sandbox_command",
    "worktrees": "kaa.frontends.worktrees_command",
}


# Commands that take the options of a conversation.
_LIKE_A_CONVERSATION = (["mcp", "serve"], ["agents", "start"], ["agents", "detached"])


_SHORTEST_WORD = 4
_OTHER_COMMANDS = frozenset(("auth", "demo", "login", "logout", "models", "plan", "sessions", "stats"))


def _command_first(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments with a command before the options of kaa that were given before it."""
    words = _OTHER_COMMANDS.union(_IN_DIRECTORY)
    if not arguments or not arguments[0].startswith("-") or words.isdisjoint(arguments):
        return arguments
    from kaa.frontends.command_words import command_first  # lazy: few command lines have one there

    return command_first(arguments, words, _INFORMING, _parser())


def _run_command(arguments: Sequence[str]) -> int | None:
    """Run a command that has a word of its own. Returns its exit code, None if the first argument is no such word."""
    match arguments[:1]:
        case ["demo"]:
            from kaa import demo  # lazy, as the others: only this command needs it

            return demo.main(arguments[1:])
        case ["login" | "logout" as word]:
            from kaa.frontends import login_command

            return login_command.login(arguments[1:]) if word == "login" else login_command.logout(arguments[1:])
        case ["auth"]:
            from kaa.frontends import login_command

            return login_command.auth(arguments[1:])
        case ["plan"] if _is_about_plans(arguments):
            from kaa.frontends import plan_command

            return plan_command.main(arguments[1:])
        case ["models"]:
            from kaa.frontends import models_command

            return models_command.main(arguments[1:])
        case ["sessions" | "stats" as word]:
            from kaa.frontends import sessions_command, stats_command

            signal.signal(signal.SIGINT, signal.SIG_DFL)  # reading all sessions may take long: end without a traceback
            main = sessions_command.main if word == "sessions" else stats_command.main
            return main(arguments[1:], _directory())
        case [word] if word in _IN_DIRECTORY and arguments[:2] not in _LIKE_A_CONVERSATION:
            main_of_project: Callable[[Sequence[str], str], int] = import_module(_IN_DIRECTORY[word]).main
            return main_of_project(arguments[1:], _directory())
        case [word] if len(word) >= _SHORTEST_WORD and word.isascii() and word.isalpha() and word.islower():
            from kaa.frontends.command_words import misspelled

            if meant := misspelled(arguments, _OTHER_COMMANDS.union(_IN_DIRECTORY)):
                return _refuse(
                    f"there is no command {word!r}: did you mean {meant}? (To send this as a message: kaa --"
                    f" {' '.join(arguments)})",
                    arguments,
                )
    return None


def _is_about_plans(arguments: Sequence[str]) -> bool:
    """Whether the arguments are of `kaa plan`, and neither `kaa plan run` nor a message that begins with this word."""
    rest = arguments[1:]
    return not rest or rest[0] in _INFORMING or (len(rest) == 1 and os.path.isfile(rest[0]))


def _parser_of(command: str) -> argparse.ArgumentParser:
    """The options of a command that takes those of a conversation."""
    from kaa.frontends import command_words  # lazy: most runs are no such command

    parser = _parser()
    return command_words.like_a_conversation(command, parser, parser.messages)


def _parsed_command(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of `kaa`, `kaa mcp serve`, `kaa agents start` or `kaa plan run`."""
    command = list(arguments[:2])
    if command == ["mcp", "serve"]:
        return _parsed(arguments[2:], _parser_of("serve"))
    if command == ["agents", "start"]:
        return _parsed(arguments[2:], _parser_of("start"))
    if command == ["agents", "detached"]:
        from kaa.frontends.live.starting import given_orders  # lazy: `kaa agents start` has started this

        orders = given_orders()
        parsed = _parsed(orders.arguments, _parser_of("start"))
        orders.apply(parsed)
        return parsed
    runs_plan = command == ["plan", "run"]
    parsed = _parsed(arguments[2:], _parser_of("run")) if runs_plan else _parsed(arguments, _parser())
    _turn_into_plan_command(parsed, runs=runs_plan)
    return parsed


def _enter_worktree(parsed: argparse.Namespace) -> int | None:
    """Go into the worktree of the arguments, and name it there. Returns the exit code if that is not possible."""
    from kaa.frontends import worktrees_command  # lazy: few runs work in one

    entered = worktrees_command.enter(parsed.worktree, _directory())
    if isinstance(entered, int):
        return entered
    parsed.worktree, directory = entered
    os.chdir(directory)
    if os.getcwd() != directory:
        sys.stderr.write("kaa: the directory in the worktree was replaced by a link: start kaa again\n")
        return _USAGE_ERROR
    os.environ["PWD"] = directory
    return None


def _turn_into_plan_command(parsed: argparse.Namespace, *, runs: bool) -> None:
    """Have `--plan FILE` and `kaa plan run FILE` do what `/plan` does.

    Args:
        parsed: the arguments.
        runs: whether a plan is to be executed, which the only message names.

    Raises:
        _UsageError: it names none, or both are wanted.
    """
    if not runs and parsed.plan is None:
        return
    from shlex import quote  # lazy: few command lines have a plan

    if not runs:
        first, *rest = parsed.messages or [""]
        parsed.messages = [f"/plan --to {quote(parsed.plan)} {first}".rstrip(), *rest]
        return
    if len(parsed.messages) != 1 or parsed.plan is not None:
        raise _UsageError("plan run takes one file: kaa plan run FILE")
    if parsed.worktree is None and not os.path.exists(os.path.expanduser(parsed.messages[0])):
        raise _UsageError(f"there is no file {parsed.messages[0]!r}: `kaa --plan FILE` writes a plan")
    parsed.print = True
    parsed.messages = [f"/plan run {quote(parsed.messages[0])}"]


def _terminal(parsed: argparse.Namespace) -> "TerminalOptions":
    """How the terminal starts; what it does not need for the first frame is loaded later."""
    from kaa.frontends.interactive.boot import TerminalOptions
    from kaa.host.process import current_directory

    directory = current_directory()

    def sandbox() -> "SandboxFlags":
        from kaa.frontends.sandbox_flags import sandbox_flags

        return sandbox_flags(parsed)

    def command_line() -> "CommandLineOptions":
        from kaa.frontends.command_line import CommandLineOptions

        return CommandLineOptions(parsed, directory)

    return TerminalOptions(
        directory,
        parsed.plain,
        parsed.fullscreen,
        parsed.resume,
        sandbox,
        command_line,
        worktree=parsed.worktree or "",
        keeps_session=not parsed.no_session,
    )


def _headless(
    command: Sequence[str], parsed: argparse.Namespace
) -> "Callable[[CommandLineOptions, LocalWorkspace | UnopenedWorkspace], int]":
    """The frontend without a terminal."""
    if command == ["mcp", "serve"]:
        from kaa.frontends.mcp import serving  # lazy, as the others: only this command needs it

        return partial(serving.main, as_agent=parsed.agent)
    if command == ["agents", "detached"]:
        from kaa.frontends.live import detached

        return partial(detached.main, handed_over=parsed.handed_over)
    if parsed.mode == "rpc":
        from kaa.frontends.rpc import mode as rpc_mode

        return rpc_mode.main
    from kaa.frontends import headless

    return headless.main


def main() -> int:
    """Be the `kaa` command. Returns the exit code if `end` leaves the end to the interpreter."""
    code = run(sys.argv[1:])
    from kaa.host.process import end  # lazy: not for `kaa --version`

    return end(code)


def _parsed(arguments: Sequence[str], parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments. `flags` are the options that extensions may have.

    Raises:
        _UsageError: they make no sense.
    """
    parsed, unknown = parser.parse_known_args(arguments)
    parsed.flags = {}
    if unknown:
        from kaa.frontends.extension_options import options_of_extensions  # lazy: few have options of extensions

        parsed.flags = options_of_extensions(unknown, parsed.extension, discovers=not parsed.no_extensions)
        if not parsed.flags:
            wants_json = any(word.partition("=")[0] in _JSON_ELSEWHERE for word in unknown)
            hint = "For JSON: --mode json. " if wants_json else ""
            raise _UsageError(f"unrecognized arguments: {' '.join(unknown)}. {hint}See {parser.prog} --help.")
    return parsed


def _run_option(parsed: argparse.Namespace, arguments: Sequence[str]) -> int | None:
    """Do what an option wants that works like a command. Returns the exit code, None if none was given."""
    if parsed.list_models is not None:
        from kaa.frontends import models_command  # lazy, as all imports here: for a quick start

        return models_command.main(["--", *parsed.list_models.split()])
    if parsed.export is None:
        return None
    if len(parsed.messages) > 1:
        return _refuse("--export takes one file to write, such as session.html", arguments)
    from kaa.frontends import export_command

    target = parsed.messages[0] if parsed.messages else None
    return export_command.main(parsed.export, target, _directory(), parsed.session_dir)


def _check_together(parsed: argparse.Namespace, command: Sequence[str]) -> None:
    """Check arguments that make sense only with some others.

    Raises:
        _UsageError: two do not go together.
    """
    if parsed.name and (parsed.no_session or parsed.view):
        other = "--no-session" if parsed.no_session else "--view"
        raise _UsageError(f"argument -n/--name: not allowed with argument {other}")
    if parsed.person_answers and command != ["mcp", "serve"] and parsed.mode != "rpc":
        raise _UsageError("argument --person-answers: only with --mode rpc and kaa mcp serve")
    if parsed.patch and not parsed.print and parsed.mode != "json":
        raise _UsageError("argument --patch: only with -p and --mode json")
    for option, file in (("--patch", parsed.patch), ("--plan", parsed.plan)):
        folder = os.path.dirname(os.path.expanduser(file or ""))
        if folder and parsed.worktree is None and not os.path.isdir(folder):
            raise _UsageError(f"argument {option}: there is no folder {folder!r}: make it, or choose another file")


def _need_cache() -> None:
    """Have a directory for caches that can be written, and say so if it is not the usual one."""
    home = os.environ.get("HOME") or os.path.expanduser("~")
    if os.environ.get("XDG_CACHE_HOME") or os.access(os.path.join(home, ".cache", "kaa"), os.W_OK | os.X_OK):
        return
    from kaa.host.cache_fallback import fall_back  # lazy: only before the first start, and in few homes

    if told := fall_back(os.environ, home):
        sys.stderr.write(f"kaa: {told}\n")


def _ask_about_settings() -> None:
    """Ask about settings of the user's that commands could write, if somebody is there."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    from kaa.host.linked_settings import all_unseen  # lazy, both: not for `kaa --version`

    if files := all_unseen(os.environ):
        from kaa.frontends.seen_settings import ask_about

        ask_about(files)


def run(arguments: Sequence[str]) -> int:
    """Run kaa. Returns the exit code, as documented in `kaa.frontends.exit_codes`."""
    _open_closed_streams()
    if _INFORMING.isdisjoint(arguments):
        from kaa.host.code import leave_out_projects  # lazy: not for `kaa --version`

        leave_out_projects(os.environ)  # before anything else is loaded
        from kaa.host.process import forbid_dumps, leave_out_current_directory

        forbid_dumps()
        if arguments[:1] != ["doctor"] and (reason := leave_out_current_directory(os.environ)):
            return _refuse(reason, arguments)
        _need_cache()
    try:
        arguments = _command_first(arguments)
    except _UsageError as error:
        return _refuse(str(error), arguments)
    if _INFORMING.isdisjoint(arguments):
        _ask_about_settings()
    ended = _run_command(arguments)
    if ended is not None:
        return ended
    command = list(arguments[:2])
    is_plain = command not in _LIKE_A_CONVERSATION  # `kaa` itself, not a command with the same options
    try:
        parsed = _parsed_command(arguments)
        _check_together(parsed, command)
    except _UsageError as error:
        return _refuse(str(error), arguments)
    if command == ["agents", "start"]:
        from kaa.frontends.live import starting  # lazy, as all imports here

        return starting.main(parsed, arguments[2:], _directory())
    if command != ["mcp", "serve"] and parsed.worktree is not None and (refused := _enter_worktree(parsed)) is not None:
        return refused
    if (ended := _run_option(parsed, arguments)) is not None:
        return ended
    if is_plain and not parsed.print and parsed.mode == "text" and sys.stdin.isatty() and sys.stdout.isatty():
        from kaa.frontends.interactive import boot

        return boot.main(_terminal(parsed))
    if parsed.resume:
        return _refuse(
            "-r needs a terminal to choose on. `kaa sessions list` lists them, --session ID resumes one.",
            arguments,
        )
    from kaa.workspace.launch import launch

    gc.disable()  # loading code makes many objects and no garbage
    # Until the run knows how to stop in order, Ctrl-C ends it without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The hands start on another core while this one loads the rest.
    hands = launch()
    from kaa.frontends.sandbox_flags import sandbox_flags
    from kaa.host.process import current_directory
    from kaa.shell.safety import open_workspace

    # What the hands need to know is little. They build their walls while the rest is loaded.
    directory = current_directory()
    opened = open_workspace(hands, directory, sandbox_flags(parsed))
    frontend = _headless(command, parsed)
    from kaa.frontends.command_line import CommandLineOptions

    # What is loaded by now lives as long as the process, and a turn makes few cycles: measured, the usual
    # settings of the collector cost a tenth of a turn.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()
    return frontend(CommandLineOptions(parsed, directory), opened)
