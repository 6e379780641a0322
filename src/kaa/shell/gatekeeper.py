"""Puts the gate between the model and the tools, and loads it with the first call: many conversations have none."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kaa.core.hooks import Block, Refuse, RunAgain
from kaa.core.messages import ToolCall
from kaa.core.tool import Permit, ToolResult
from kaa.shell.settings import ApprovalPolicy

if TYPE_CHECKING:
    from kaa.shell.approvals.gate import Gate


class Gatekeeper:
    """The hooks of a gate that may not exist yet.

    Args:
        policy: who is asked before what.
        build: makes the gate.
    """

    def __init__(self, policy: ApprovalPolicy, build: "Callable[[ApprovalPolicy], Gate]") -> None:
        self._policy = policy
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
            self._gate = self._build(self._policy)
        return self._gate

    async def before(self, call: ToolCall) -> Block | Permit | None:
        """The last hook before tools."""
        return await self.load().before(call)

    async def after(self, call: ToolCall, result: ToolResult) -> RunAgain | Refuse | None:
        """The first hook after tools."""
        return await self.load().after(call, result)
