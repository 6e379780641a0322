"""The rule to offer for the session and for "always": what a person means by that.

Where the sandbox confines whatever a program does, that is the program with any arguments, and all files of the
project. Elsewhere it is the narrowest rule that saves the next question of the same kind.
"""

import posixpath
import re
import shlex
from collections.abc import Sequence

from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.coverage import permission
from kaa.shell.approvals.programs import distrust, program_name, runner_length
from kaa.shell.approvals.rules import COMMAND_SUBJECT, Rule, RuleError, parse_rule

# Subcommands that say what is done, so that a rule may leave the rest open. They run nothing but what the project says
# they do, and install nothing. Of git, those that `programs.py` trusts.
_TELLING = {
    "cargo": "bench build check clippy doc fmt test tree",
    "gem": "list",
    "npm": "ls outdated run test",
    "pdm": "list show",
    "pip": "check freeze list show",
    "pnpm": "ls outdated run test",
    "poetry": "check show",
    "uv": "tree",
    "yarn": "outdated run test",
}
# Programs whose second word says what is done. Of all others, the name does.
_WITH_SUBCOMMANDS = (
    "bazel bun bundle cargo composer conda dart deno docker dotnet flutter gem gh git go helm hatch kubectl mix "
    "nix npm opam pdm pip pip3 pipenv pnpm podman poetry rails rustup svn swift terraform uv yarn"
)
# Programs that run whatever they are given: a rule for any arguments would be one for every command.
_ANYTHING = (
    "sh bash rbash dash zsh fish ksh mksh csh tcsh ash env sudo doas su eval exec source . command builtin xargs "
    "time gtime timeout nice nohup setsid stdbuf parallel watch strace ltrace ssh"
)
_RUNS_A_SCRIPT = "run"  # of npm, pnpm and yarn; its name says what is done
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._:-]*")
_GLOB_CHARACTERS = re.compile(r"([\\*?\[{},])")


def suggestion(call: JudgedCall, rules: Sequence[Rule], root: str, *, outside: bool) -> str | None:
    """Rules, one on each line, that with those in force would allow a call; None if there are none.

    Args:
        outside: whether they must let the call leave the sandbox.
    """
    prefix = "outside " if outside and call.risk != "outside" else ""
    if outside:
        rules = [rule for rule in rules if rule.outside]
    text = "\n".join(dict.fromkeys(prefix + line for line in _lines(call, rules, root, outside=outside)))
    try:
        offered = [parse_rule(line) for line in text.splitlines()]
    except RuleError:
        return None
    granted = permission(call, [*rules, *offered], root)
    return text if granted and (granted.outside or not prefix) else None


def _lines(call: JudgedCall, rules: Sequence[Rule], root: str, *, outside: bool) -> list[str]:
    if call.script is not None:
        held = call.is_held and not outside
        missing = [
            one for one in call.script.commands if not any(rule.allows_command(one, held=held) for rule in rules)
        ]
        exact = bool(call.losses) or outside
        return [_command_line(one.literal_words or (), exact=exact, held=held) for one in missing]
    if call.risk in ("read", "write") and call.paths:
        return [f"{call.risk}: {_pattern(call.paths[0], root, exact=outside, held=call.is_held)}"]
    return [call.tool] if call.risk in ("granted", "outside") else []


def _command_line(words: Sequence[str], *, exact: bool, held: bool) -> str:
    """A rule for a command; open-ended only where its first words say enough."""
    said = (_naming_words(words) if held else _telling_words(words)) if words else 0
    if said and not exact and (held or distrust(words, said) is None):
        return f"{COMMAND_SUBJECT}: {shlex.join(words[:said])} *"
    return f"{COMMAND_SUBJECT}: {shlex.join(words)}"


def _naming_words(words: Sequence[str]) -> int:
    """How many of the first words name a program, and its subcommand or module; 0 if they could be any program."""
    if behind := runner_length(words):
        inner = _naming_words(words[behind:]) if len(words) > behind else 0
        return behind + inner if inner else 0
    match program_name(words[0]), *words[1:]:
        case program, *_ if program in _ANYTHING.split() or program.startswith("-"):
            return 0
        case (("npm" | "pnpm" | "yarn" | "bun"), "run", script, *_) if _NAME.fullmatch(script):
            return 3
        case "python", "-m", _, *_:
            return 3
        case program, *rest if program in _WITH_SUBCOMMANDS.split():
            return 2 if rest and _NAME.fullmatch(rest[0]) else 0
        case _:
            return 1


def _telling_words(words: Sequence[str]) -> int:
    """How many of the first words say what a command does; 0 if only all of them do.

    Of what runs another program (`uv run pytest`) it is the other one that matters: only as much is left open as for
    that.
    """
    if behind := runner_length(words):
        inner = _telling_words(words[behind:]) if len(words) > behind else 0
        return behind + inner if inner else 0
    match words:
        case ["git", subcommand, *_] if _NAME.fullmatch(subcommand):
            return 2
        case [program, subcommand, *rest] if subcommand in _TELLING.get(program, "").split():
            if subcommand != _RUNS_A_SCRIPT:
                return 2
            return 3 if rest and _NAME.fullmatch(rest[0]) else 0
        case _:
            return 0


def _pattern(path: str, root: str, *, exact: bool, held: bool) -> str:
    """The file itself outside the sandbox; else the project if the sandbox confines the call, or its directory."""
    project = root.rstrip("/") + "/"
    is_inside = path.startswith(project)
    if exact or not (is_inside or held):
        return _GLOB_CHARACTERS.sub(r"\\\1", path)
    if held and is_inside:
        return "**"
    name = _GLOB_CHARACTERS.sub(r"\\\1", path[len(project) :] if is_inside else path)
    directory = posixpath.dirname(name)
    return f"{directory}/**" if directory else name
