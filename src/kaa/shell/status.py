"""All that a status line shows of a conversation, as it is at one moment."""

import msgspec

from kaa.core.usage import UsageReport
from kaa.ext.choices import ModelState
from kaa.workspace.sandbox.sandbox import SandboxStatus


class Status(msgspec.Struct, frozen=True):
    """A conversation at one moment.

    Attributes:
        session_path: None when the session is not kept.
        session_name: what the user called it, None if nothing.
        mode: what tools may do without a question, in a word (`ConversationPermissions.policy`).
        jobs: how many background processes run.
        beside: how many works go on beside the run, such as agents in the background.
        ports: those of the sandbox that are open on this machine.
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
    mode: str
    checkpoints_problem: str | None = None
    jobs: int = 0
    beside: int = 0
    ports: tuple[int, ...] = ()
