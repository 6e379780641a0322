"""The rule to offer for "always": the narrowest that saves the next question of the same kind."""

import posixpath
import re
import shlex
from collections.abc import Sequence

from kaa.shell.approvals.calls import Call
from kaa.shell.approvals.coverage import permission
from kaa.shell.approvals.programs import distrust
from kaa.shell.approvals.rules import COMMAND_SUBJECT, Rule, RuleError, parse_rule

# Programs whose second word says what they do, so that a rule may leave the rest open.
_WITH_SUBCOMMANDS = "git cargo npm pnpm yarn pip uv dotnet mix bundle gem brew poetry pdm"
_SCRIPT_RUNNERS = "npm pnpm yarn"
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*")
_GLOB_CHARACTERS = re.compile(r"([\\*?\[{},])")


def suggestion(call: Call, rules: Sequence[Rule], root: str, *, outside: bool) -> str | None:
    """Rules, one on each line, that with those in force would allow a call; None if there are none.

    Args:
        call: the call.
        rules: the allow rules in force.
        root: the project.
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


def _lines(call: Call, rules: Sequence[Rule], root: str, *, outside: bool) -> list[str]:
    if call.script is not None:
        uncovered = [one for one in call.script.commands if not any(rule.allows_command(one) for rule in rules)]
        return [_command_line(one.literal_words or (), exact=bool(call.losses) or outside) for one in uncovered]
    if call.risk in ("read", "write") and call.paths:
        return [f"{call.risk}: {_pattern(call.paths[0], root, exact=outside)}"]
    return [call.tool] if call.risk == "outside" else []


def _command_line(words: Sequence[str], *, exact: bool) -> str:
    """A rule for a command; open-ended only where its first words say enough."""
    said = 3 if words[:1] and words[0] in _SCRIPT_RUNNERS.split() and words[1:2] == ("run",) else 2
    names_enough = len(words) >= said and words[0] in _WITH_SUBCOMMANDS.split() and _SUBCOMMAND.fullmatch(words[1])
    if names_enough and not exact and distrust(words) is None:
        return f"{COMMAND_SUBJECT}: {shlex.join(words[:said])} *"
    return f"{COMMAND_SUBJECT}: {shlex.join(words)}"


def _pattern(path: str, root: str, *, exact: bool) -> str:
    """The file itself outside the sandbox, else everything in its directory."""
    if exact or not path.startswith(root.rstrip("/") + "/"):
        return _GLOB_CHARACTERS.sub(r"\\\1", path)
    relative = _GLOB_CHARACTERS.sub(r"\\\1", path[len(root.rstrip("/")) + 1 :])
    directory = posixpath.dirname(relative)
    return f"{directory}/**" if directory else relative
