"""What the sandbox stopped in a call, and what would have to be lifted to let it through."""

from collections.abc import Sequence

import msgspec

from kaa.core.messages import Json
from kaa.shell.approvals.requests import OUTSIDE, Lift
from kaa.workspace.blocked import Blocked


class _BlockedDetails(msgspec.Struct, frozen=True):
    blocked: tuple[Blocked, ...] = ()


def blocked_in(details: Json) -> tuple[Blocked, ...]:
    """What the sandbox stopped, as the tools' details say it."""
    try:
        return msgspec.convert(details, _BlockedDetails).blocked
    except msgspec.ValidationError:  # details of an extension's tool may be anything
        return ()


def lifts_for(blocked: Sequence[Blocked]) -> tuple[Lift, ...]:
    """The least that lets all of it through: what can be lifted by itself, or the whole sandbox for this call."""
    lifts = []
    for one in blocked:
        match one.kind:
            case "git":
                lifts.append(Lift("git"))
            case "network" if one.what:
                lifts.append(Lift("network", one.what))
            case _:
                return (OUTSIDE,)
    return tuple(dict.fromkeys(lifts))
