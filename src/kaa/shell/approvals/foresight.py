"""What a command will foreseeably need from outside the sandbox, so that kaa asks before it runs, and it runs once.

A guess from the words of the command: a need that is missed here is reported when the sandbox blocks it, and a need
that was wrongly foreseen costs a question. Nothing is permitted because of what is found here.
"""

from collections.abc import Callable, Iterator

import msgspec

from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.shell.approvals.credentials import use_of_credentials
from kaa.shell.approvals.foreseen_hosts import foreseen_hosts, hosts_in
from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.programs import program_name
from kaa.shell.approvals.reach import CommandReach

# Commands do not see all worktrees, and some of what git keeps of each is mounted: git would remove what it can.
_OF_WORKTREES = frozenset({"move", "prune", "remove"})
# Git does the rest, cannot write the configuration, and ends as if nothing was missing. (`update --init` fails, and can
# be repeated outside.)
_REGISTERING = frozenset({"add", "deinit"})
_VALUED_OF_ADD = frozenset({"-b", "-B", "--reason"})  # of `git worktree add`


class Need(msgspec.Struct, frozen=True):
    """A permission without which a command would be blocked.

    Attributes:
        escalation: what a yes permits.
        reason: why the command needs it, a sentence without a full stop.
    """

    escalation: Escalation
    reason: str


def foreseen(reach: CommandReach, is_beyond: Callable[[str], bool] = lambda _: False) -> tuple[Need, ...]:
    """The needs of a command, as far as its words show them.

    Args:
        reach: the programs that the command runs.
        is_beyond: whether a path that it names is certainly where commands cannot write.
    """
    needs = {need.escalation: need for words in reach.commands for need in _needs(words, is_beyond)}
    outside = needs.get(OUTSIDE)
    return tuple(needs.values()) if outside is None else (outside,)  # outside, nothing else needs a permission


def foreseen_host(url: object) -> tuple[Need, ...]:
    """The need of a tool that gets an address. None for what is never asked about: the network refuses it."""
    hosts = hosts_in([url] if isinstance(url, str) else [])
    return tuple(Need(Escalation("network", host), "it needs the network") for host in hosts)


def removed_worktree(reach: CommandReach) -> str | None:
    """Return the path of the only worktree that a command removes, if that is its only need to leave the sandbox."""
    leaving = [words for words in reach.commands if any(need.escalation == OUTSIDE for need in _needs(words))]
    if len(leaving) != 1 or leaving[0][:3] != ("git", "worktree", "remove"):
        return None
    paths = [word for word in leaving[0][3:] if word is None or not word.startswith("-")]
    return paths[0] if len(paths) == 1 else None


def _needs(words: Words, is_beyond: Callable[[str], bool] = lambda _: False) -> Iterator[Need]:
    """The needs of one program. `words`: the program and its arguments; None for a word that bash computes."""
    program, arguments = words[0] or "", words[1:]
    if "/" in program:  # a program of this name, but which one?
        return
    name = program_name(program)
    if name.startswith("python") and arguments[:1] == ("-m",) and arguments[1:2] not in ((), (None,)):
        name, arguments = arguments[1] or "", arguments[2:]
    if reason := use_of_credentials(name, arguments):
        yield Need(OUTSIDE, reason)
    if name == "git" and arguments[:1] == ("worktree",) and arguments[1:2] and arguments[1] in _OF_WORKTREES:
        yield Need(OUTSIDE, f"git worktree {arguments[1]} works on worktrees that the sandbox holds or hides")
    if name == "git" and arguments[:2] == ("worktree", "add") and (path := _added(arguments[2:])) and is_beyond(path):
        yield Need(OUTSIDE, f"git worktree add would make {path}, where the sandbox lets nothing be written")
    if name == "git" and (subcommand := _of_submodules(arguments)) in _REGISTERING:
        yield Need(OUTSIDE, f"git submodule {subcommand} writes the configuration of git, which the sandbox protects")
    if hosts := foreseen_hosts(name, arguments):
        what = " ".join([name, *(word for word in arguments[:1] if word and not word.startswith(("-", "http")))])
        for host in hosts:
            yield Need(Escalation("network", host), f"{what} needs the network")


def _of_submodules(arguments: Words) -> str | None:
    """The subcommand of `git submodule`; None for another command of git."""
    operands = [word for word in arguments if word is None or not word.startswith("-")]
    return operands[1] if arguments[:1] == ("submodule",) and len(operands) > 1 else None


def _added(words: Words) -> str | None:
    """The path of a new worktree; None if bash computes it."""
    is_value = False
    for word in words:
        if not is_value and (word is None or not word.startswith("-")):
            return word
        is_value = not is_value and word in _VALUED_OF_ADD
    return None
