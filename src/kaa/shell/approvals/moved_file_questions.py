"""Files that the guard moved away during a call: asks the person about them, or tells where nobody can be asked."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from kaa.core.messages import TextContent, ToolCall
from kaa.core.tool import ToolResult
from kaa.ext.asking import Asker
from kaa.ext.questions import Approval
from kaa.shell.approvals.blocks import result_without
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.judgement import Allowed, Denied
from kaa.shell.approvals.set_aside import FileAnswers, Outcome, SetAside
from kaa.shell.boundary import SandboxControl
from kaa.shell.settings import ApprovalPolicy
from kaa.workspace.blocked import Blocked
from kaa.workspace.moved_wording import notice_beside


class MovedFileQuestions:
    """Asks the person whose files these may be, who is not always the one that is asked about calls.

    Args:
        owner: gives who asks the person, also where the asker of calls refuses for them; None: that one asks.
        ask: asks the owner whether kaa may write a file.
        forbids: says why a rule, or the definition of an agent, forbids a call; None if none does.
    """

    def __init__(
        self,
        sandbox: SandboxControl,
        *,
        owner: Callable[[], Asker | None],
        asker: Callable[[], Asker],
        policy: Callable[[], ApprovalPolicy],
        ask: Callable[[JudgedCall, Approval], Awaitable[Allowed | Denied]],
        forbids: Callable[[JudgedCall], str | None],
        notify: Callable[[str], None],
        answers: FileAnswers | None,
    ) -> None:
        self._sandbox = sandbox
        self._owner = owner
        self._asker = asker
        self._policy = policy
        self._notify = notify
        self._set_aside = SetAside(sandbox, ask, forbids, notify, answers)

    async def offer(self, call: ToolCall, result: ToolResult, blocked: Sequence[Blocked]) -> ToolResult | None:
        """Ask whether kaa may write what the guard moved away; None where nobody is asked."""
        if not self._can_ask:
            self._tell(blocked)
            return None
        try:
            outcome = await self._set_aside.offer(call, blocked)
        except asyncio.CancelledError:  # the run is stopped, perhaps by the answer: its result will not tell it
            self._notify_of(one for one in blocked if one not in self._set_aside.settled)
            raise
        if outcome is None:
            return None
        if self._owner() is not None:  # they do not read what their agents are told
            self._tell([one for one in blocked if one not in outcome.settled])
        rest = result_without(result, outcome.settled) if outcome.settled else result
        told = (TextContent(outcome.told),) if outcome.told else ()
        return ToolResult((*rest.content, *told), rest.details, rest.is_error)

    async def offer_found(self, found: Sequence[Blocked]) -> Outcome | None:
        """Ask about files that the guard moved away beside all calls; None where nobody is asked."""
        return await self._set_aside.offer(ToolCall("", "bash", {}), found) if self._can_ask else None

    @property
    def _can_ask(self) -> bool:
        is_writable = self._sandbox.mode == "workspace-write" and not self._sandbox.is_narrowed
        return is_writable and (self._owner() or self._asker()).can_ask and self._policy() != "never"

    def _tell(self, blocked: Sequence[Blocked]) -> None:
        """Tell the person what the guard moved away, where neither a question nor a result does."""
        if self._owner() is not None or (self._asker().can_ask and self._policy() == "never"):
            self._notify_of(blocked)

    def _notify_of(self, blocked: Iterable[Blocked]) -> None:
        for one in dict.fromkeys(one for one in blocked if one.kept_as):
            self._notify(notice_beside(one))
