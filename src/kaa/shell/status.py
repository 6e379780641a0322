"""All that a status line shows of a conversation, as it is at one moment."""

import msgspec

from kaa.core.usage import UsageReport
from kaa.ext.choices import ModelState
from kaa.shell.settings import ApprovalPolicy
from kaa.workspace.sandbox.sandbox import SandboxStatus


class Status(msgspec.Struct, frozen=True):
    """A conversation at one moment.

    Attributes:
        session_path: None when the session is not kept.
        session_name: what the user called it, None if nothing.
        cwd: the project's directory.
        checkpoints_problem: why no checkpoints of files are taken; None if they are.
        sandbox: what holds tools back; None where nothing needs to, or if it is not known for the `sandbox_problem`.
    """

    model: ModelState
    session_path: str | None
    session_name: str | None
    cwd: str
    usage: UsageReport
    sandbox: SandboxStatus | None
    sandbox_problem: str | None
    approvals: ApprovalPolicy
    checkpoints_problem: str | None = None
