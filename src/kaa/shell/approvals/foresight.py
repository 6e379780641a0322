"""What a command will foreseeably need from outside the sandbox, so that kaa asks before it runs, and it runs once.

A guess from the words of the command: a need that is missed here is reported when the sandbox blocks it, and a need
that was wrongly foreseen costs a question. Nothing is permitted because of what is found here.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from kaa.ext.questions import OUTSIDE, Escalation
from kaa.shell.approvals.credentials import use_of_credentials
from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.reach import CommandReach
from kaa.workspace.network.allow_list import NetworkRule


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
    """The need of a tool that gets an address. None for what no rule can name: the network refuses it, or nothing."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        host, port = (parts.hostname, parts.port) if parts else (None, None)
        name = f"[{host}]" if host and ":" in host else host
        rule = NetworkRule.parse(f"{name}:{port}" if port not in (None, 80, 443) else name or "")
    except ValueError:
        return ()
    return (Need(Escalation("network", str(rule)), f"it connects to {rule}"),)


def _needs(words: Words) -> Iterator[Need]:
    """The needs of one program. `words`: the program and its arguments; None for a word that bash computes."""
    if reason := use_of_credentials(words):
        yield Need(OUTSIDE, reason)
