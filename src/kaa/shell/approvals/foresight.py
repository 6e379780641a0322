"""What a command will foreseeably need from outside the sandbox, so that kaa asks before it runs, and it runs once.

A guess from the words of the command: a need that is missed here is reported when the sandbox blocks it, and a need
that was wrongly foreseen costs a question. Nothing is permitted because of what is found here.
"""

from collections.abc import Iterator

import msgspec

from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.shell.approvals.credentials import use_of_credentials
from kaa.shell.approvals.foreseen_hosts import foreseen_hosts, hosts_in
from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.programs import program_name
from kaa.shell.approvals.reach import CommandReach

# Commands do not see all worktrees, and some of what git keeps of each is mounted: git would remove what it can.
_OF_WORKTREES = frozenset({"move", "prune", "remove"})


class Need(msgspec.Struct, frozen=True):
    """A permission without which a command would be blocked.

    Attributes:
        escalation: what a yes permits.
        reason: why the command needs it, a sentence without a full stop.
    """

    escalation: Escalation
    reason: str


def foreseen(reach: CommandReach) -> tuple[Need, ...]:
    """The needs of a command, as far as its words show them.

    Args:
        reach: the programs that the command runs.
    """
    needs = {need.escalation: need for words in reach.commands for need in _needs(words)}
    outside = needs.get(OUTSIDE)
    return tuple(needs.values()) if outside is None else (outside,)  # outside, nothing else needs a permission


def foreseen_host(url: object) -> tuple[Need, ...]:
    """The need of a tool that gets an address. None for what is never asked about: the network refuses it."""
    hosts = hosts_in([url] if isinstance(url, str) else [])
    return tuple(Need(Escalation("network", host), "it needs the network") for host in hosts)


def _needs(words: Words) -> Iterator[Need]:
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
    if hosts := foreseen_hosts(name, arguments):
        what = " ".join([name, *(word for word in arguments[:1] if word and not word.startswith(("-", "http")))])
        for host in hosts:
            yield Need(Escalation("network", host), f"{what} needs the network")
