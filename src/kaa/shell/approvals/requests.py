"""What is asked of a person, and what a person can answer. A frontend implements `Approver` and knows no more."""

from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.ext.api import Risk

# What a yes changes beyond this call being run: the call leaves the sandbox; `.git` may be written in this session;
# a host may be reached in this session.
LiftKind: TypeAlias = Literal["outside", "git", "network"]


class Lift(msgspec.Struct, frozen=True):
    """Something that keeps a call back and that a yes takes away. `what`: the host, for the network."""

    kind: LiftKind
    what: str = ""

    @property
    def text(self) -> str:
        """What a yes does, for people."""
        match self.kind:
            case "outside":
                return "runs this call outside the sandbox"
            case "git":
                return "allows writing to .git for this session"
            case "network":
                return f"allows network access to {self.what} for this session"


OUTSIDE: Final = Lift("outside")


class JudgedPart(msgspec.Struct, frozen=True):
    """A simple command of a call, and why no rule allows it; None where one does."""

    text: str
    reason: str | None


class ApprovalRequest(msgspec.Struct, frozen=True):
    """A question to a person.

    Attributes:
        call_id: the tool call.
        tool: its tool.
        risk: what the tool can do at most.
        title: what is to happen, in one line.
        arguments: all that the tool is told.
        parts: of a command, its simple commands.
        reasons: why this is asked, whole sentences.
        warning: what would be lost or is not what it seems, None if nothing is known to be.
        lifts: what a yes changes besides letting the call run.
        was_run: the call was run and blocked; a yes runs it again from its beginning.
        suggestion: rules for "always", one on each line, to be shown and edited; None if no rule could allow this.
        problem: why the answer before could not be taken.
    """

    call_id: str
    tool: str
    risk: Risk
    title: str
    arguments: dict[str, Json]
    parts: tuple[JudgedPart, ...] = ()
    reasons: tuple[str, ...] = ()
    warning: str | None = None
    lifts: tuple[Lift, ...] = ()
    was_run: bool = False
    suggestion: str | None = None
    problem: str | None = None


class AllowOnce(msgspec.Struct, frozen=True):
    """Yes, this time."""


class AllowForSession(msgspec.Struct, frozen=True):
    """Yes, and whatever these rules allow until the session ends. None: calls with exactly these arguments."""

    rules: str | None = None


class AllowAlways(msgspec.Struct, frozen=True):
    """Yes, and whatever these rules allow from now on; the rules one on each line, as the user left them."""

    rules: str


class Deny(msgspec.Struct, frozen=True):
    """No. `reason`: the user's words for the model."""

    reason: str = ""


class Abort(msgspec.Struct, frozen=True):
    """No, and stop the whole run."""


Answer: TypeAlias = AllowOnce | AllowForSession | AllowAlways | Deny | Abort


class Approver(Protocol):
    """Somebody who can be asked."""

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Wait for the answer. Questions come one at a time; cancellation takes the question back."""
        ...
