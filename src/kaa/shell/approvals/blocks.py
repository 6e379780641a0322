"""What the sandbox stopped in a call, and what would have to be lifted to let it through."""

from collections.abc import Sequence

import msgspec

from kaa.core.messages import Json
from kaa.ext.questions import OUTSIDE, Escalation
from kaa.workspace.blocked import Blocked


class BlockedDetails(msgspec.Struct, rename="camel", frozen=True):
    """What the sandbox stopped, as the tools' details say it.

    Attributes:
        blocked: in this call.
        blocked_earlier: in what other calls had started, in the background. Running this call again would not help.
    """

    blocked: tuple[Blocked, ...] = ()
    blocked_earlier: tuple[Blocked, ...] = ()


def blocked_in(details: Json) -> BlockedDetails:
    """What the sandbox stopped."""
    try:
        return msgspec.convert(details, BlockedDetails)
    except msgspec.ValidationError:  # details of an extension's tool may be anything
        return BlockedDetails()


def escalations_for(blocked: Sequence[Blocked]) -> tuple[Escalation, ...]:
    """The least that lets all of it through: what can be lifted by itself, or the whole sandbox for this call.

    None for what running the call again would not repair.
    """
    escalations = []
    for one in blocked:
        if not one.is_reparable:
            continue
        match one.kind:
            case "port" | "socket" if one.what:
                escalations.append(Escalation(one.kind, one.what))
            case _:
                return (OUTSIDE,)
    return tuple(dict.fromkeys(escalations))
