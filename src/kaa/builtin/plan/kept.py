"""Plans in the session: an entry for each change of the plan or of a step's state."""

from contextlib import suppress
from typing import Literal

import msgspec

from kaa.builtin.plan.document import Plan
from kaa.ext.api import CommandContext, ConversationContext

_KIND = "plan"


class KeptPlan(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """A plan as the session has it.

    Attributes:
        text: the plan, with the states of its steps.
        phase: how far it is as a whole.
        origin: the entry of the plan on the branch on which it was made.
        file: where it came from, and where the states are written; empty for none.
        digest: of that file, as it was last read or written.
        tries: how often the present step was checked.
        still: how often in a row that said the same.
        seen: a digest of what its checks said last.
        why: what the last failed step lacks.
    """

    text: str
    phase: Literal["planned", "executing", "done", "failed"] = "planned"
    origin: str = ""
    file: str = ""
    digest: str = ""
    tries: int = 0
    still: int = 0
    seen: str = ""
    why: str = ""

    def with_plan(self, plan: Plan) -> "KeptPlan":
        """The same with another text."""
        return msgspec.structs.replace(self, text=plan.text)


def keep(plan: KeptPlan, context: CommandContext | ConversationContext) -> None:
    """Write it into the session.

    Raises:
        CommandError: the session cannot be written.
    """
    context.session.append(msgspec.to_builtins(plan), _KIND)


def last_plan(context: CommandContext | ConversationContext) -> KeptPlan | None:
    """The last plan on this branch of the session. `origin` is its entry while it is only planned."""
    found = None
    for entry in context.session.entries(_KIND):
        with suppress(msgspec.ValidationError):  # of another version of kaa
            kept = msgspec.convert(entry.data, KeptPlan)
            found = msgspec.structs.replace(kept, origin=entry.id) if kept.phase == "planned" else kept
    return found
