"""Puts the gate between the model and the tools, and loads it with the first call: many conversations have none."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kaa.core.hooks import Block, Refuse, RunAgain
from kaa.core.messages import ToolCall
from kaa.core.tool import Permit, ToolResult
from kaa.shell.settings import ApprovalPolicy, ApprovalSettings

if TYPE_CHECKING:
    from kaa.shell.approvals.gate import Gate
    from kaa.shell.approvals.rule_file import Rules


class Gatekeeper:
    """The hooks of a gate that may not exist yet.

    Args:
        policy: who is asked before what.
        chosen: rules of the settings.
        parse: reads them.
        build: makes the gate.
    """

    def __init__(
        self,
        policy: ApprovalPolicy,
        chosen: ApprovalSettings,
        parse: "Callable[[ApprovalSettings], Rules]",
        build: "Callable[[ApprovalPolicy, Rules], Gate]",
    ) -> None:
        self._policy = policy
        self._chosen = chosen
        self._parse = parse
        self._build = build
        self._gate: Gate | None = None

    @property
    def policy(self) -> ApprovalPolicy:
        """Who is asked before what."""
        return self._policy

    def set_policy(self, policy: ApprovalPolicy) -> None:
        """Change who is asked before what, from the next call on."""
        self._policy = policy
        if self._gate is not None:
            self._gate.policy = policy

    def load(self) -> "Gate":
        """The gate.

        Raises:
            ApprovalsError: a rule is none, or the kept ones cannot be read.
        """
        if self._gate is None:
            self._gate = self._build(self._policy, self._parse(self._chosen))
        return self._gate

    def reload(self, chosen: ApprovalSettings) -> None:
        """Put other rules in force, from the next call on; answers of this session stay, and so does the policy.

        Raises:
            ApprovalsError: a rule is none, or the kept ones cannot be read; everything stays as it was.
        """
        if self._gate is not None:
            self._gate.reload(self._parse(chosen))
        elif chosen.allow or chosen.deny:
            self._parse(chosen)
        self._chosen = chosen

    async def before(self, call: ToolCall) -> Block | Permit | None:
        """The last hook before tools."""
        return await self.load().before(call)

    async def after(self, call: ToolCall, result: ToolResult) -> RunAgain | Refuse | None:
        """The first hook after tools."""
        return await self.load().after(call, result)
