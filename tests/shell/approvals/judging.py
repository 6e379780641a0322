"""Calls, rules and a sandbox to judge."""

import asyncio
import posixpath
from collections.abc import Sequence

import msgspec

from kaa.core.messages import Json, ToolCall
from kaa.ext.api import Risk
from kaa.hands.policy import Mode
from kaa.shell.approvals.calls import examine
from kaa.shell.approvals.judgement import Allowed, Denied, Doubtful, judge
from kaa.shell.approvals.rule_file import parse_rules
from kaa.shell.approvals.sparing import Sparing
from kaa.shell.settings import ApprovalPolicy
from kaa.workspace.checkpoints.contract import Kept
from kaa.workspace.git import ChangedFiles
from kaa.workspace.permitted import Target

ROOT = "/project"
RISKS: dict[str, Risk] = {
    "bash": "command",
    "read": "read",
    "grep": "read",
    "write": "write",
    "edit": "write",
    "web_fetch": "fetch",
    "deploy": "outside",
    "ticket": "granted",
}


class Confinement(msgspec.Struct, frozen=True):
    """What is known of a sandbox."""

    confined: bool = True
    effective: bool = False
    mode: Mode = "workspace-write"
    is_narrowed: bool = False
    root: str = ROOT
    writable: tuple[str, ...] = (ROOT, "/tmp")
    temporary: tuple[str, ...] = ("/tmp",)
    private_temporary: tuple[str, ...] = ("/tmp",)


CONFINED = Confinement()
EFFECTIVE = Confinement(effective=True)
UNCONFINED = Confinement(confined=False)
FULL_ACCESS = Confinement(confined=False, mode="full-access")
NARROWED = Confinement(is_narrowed=True)
READ_ONLY = Confinement(mode="read-only", writable=("/tmp",))


def verdict(
    tool: str,
    arguments: dict[str, Json],
    *,
    policy: ApprovalPolicy = "ask",
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    confinement: Confinement = CONFINED,
    changed: Sequence[str] | None = None,
    mixed: bool = False,
    kept: Sequence[str] = (),
    generated: Sequence[str] = (),
    ignored: Sequence[str] = (),
    unread: int = 0,
    leads_to: str | None = None,
) -> Allowed | Denied | Doubtful:
    """The verdict on a call.

    Args:
        tool: its name.
        arguments: of the call.
        policy: when to ask.
        allow: rules.
        deny: rules.
        confinement: of calls.
        changed: what git says; None: nothing.
        mixed: whether something of it is staged.
        kept: by checkpoints.
        generated: by programs.
        ignored: by git.
        unread: by checkpoints, how many.
        leads_to: where the path really leads.
    """
    target = Target(str(arguments["path"]), leads_to) if leads_to is not None else None
    call = examine(ToolCall("1", tool, arguments), RISKS.get(tool, "outside"), confinement, target)

    async def ask_git(untracked: bool) -> ChangedFiles | None:
        return None if changed is None else ChangedFiles(tuple(changed), mixed=mixed)

    async def ignores(directories: Sequence[str]) -> bool:
        return set(ignored).issuperset(directories)

    async def keeps(patterns: Sequence[str], *, name: str = "", kind: str = "") -> Kept:
        paths = set(map(posixpath.normpath, patterns))
        left = paths.difference(kept)
        return Kept(left.issubset(generated), tuple(sorted(left)), 0 if left.issubset(generated) else unread)

    call = asyncio.run(Sparing(ask_git, ignores, keeps).spare(call))
    return judge(
        call, policy, parse_rules(allow, deny, "test"), ROOT, exposed=lambda _: None, runs_writable=lambda _: None
    )


def bash(command: str, **circumstances: object) -> Allowed | Denied | Doubtful:
    """The verdict on a command."""
    return verdict("bash", {"command": command}, **circumstances)  # type: ignore[arg-type]  # forwards
