"""All that a status line shows of a conversation, as it is at one moment."""

import msgspec

from kaa.core.usage import UsageReport
from kaa.shell.models import ModelState
from kaa.shell.settings import ApprovalPolicy
from kaa.workspace.sandbox.sandbox import SandboxStatus


class Status(msgspec.Struct, frozen=True):
    """A conversation at one moment.

    Attributes:
        session_path: None when the session is not kept.
        session_name: what the user called it, None if nothing.
        cwd: the project's directory.
        sandbox: what holds tools back; None where nothing needs to, or if it is not known for the `sandbox_problem`.
        steering: messages that wait to be given to the model as soon as possible.
        follow_ups: messages that wait until it would stop.
        busy: the agent works.
        running_command: a command of the user's own runs.
    """

    model: ModelState
    session_id: str
    session_path: str | None
    session_name: str | None
    cwd: str
    usage: UsageReport
    sandbox: SandboxStatus | None
    sandbox_problem: str | None
    approvals: ApprovalPolicy
    steering: int
    follow_ups: int
    busy: bool
    running_command: bool
    active_tools: tuple[str, ...]
