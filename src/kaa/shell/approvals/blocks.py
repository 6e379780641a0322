"""What the sandbox stopped in a call, and what would have to be lifted to let it through."""

import os
from collections.abc import Callable, Sequence

import msgspec

from kaa.core.messages import Json, TextContent
from kaa.core.tool import ToolResult
from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.shell.approvals.places import is_obeyed
from kaa.shell.boundary import SandboxControl
from kaa.workspace.blocked import Blocked, without_note
from kaa.workspace.sandbox.options import SandboxChange

# A directory such as /srv or /etc/cron.d is more than a call needs: there, the call alone may leave the sandbox.
_LEAST_DEPTH = 2
# Caches that their programs go on without: pytest, mypy and ruff keep them at the top of a repository, which is above
# the project where kaa was started in a folder of it; Python beside the modules.
_DISPENSABLE = frozenset({".pytest_cache", ".mypy_cache", ".ruff_cache", "__pycache__"})
# What git writes in a repository and nothing executes.
_DATA_OF_GIT = frozenset({"index", "HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "objects", "refs", "logs", "packed-refs"})
_OF_THE_SYSTEM = ("/boot/", "/etc/", "/usr/")


class BlockedDetails(msgspec.Struct, rename="camel", frozen=True):
    """What the sandbox stopped, as the tools' details say it.

    Attributes:
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


def is_dispensable(blocked: Blocked) -> bool:
    """Whether nothing is missing because of it: no permission makes the call succeed that failed beside it."""
    return blocked.kind == "write" and not _DISPENSABLE.isdisjoint(blocked.what.split("/"))


def result_without(result: ToolResult, settled: Sequence[Blocked]) -> ToolResult:
    """Return a result that no longer says that some of what it names was stopped."""
    left = [msgspec.to_builtins(one) for one in blocked_in(result.details).blocked if one not in settled]
    details = {**result.details, "blocked": left} if isinstance(result.details, dict) else result.details
    content = tuple(
        TextContent(without_note(part.text, settled)) if isinstance(part, TextContent) else part
        for part in result.content
    )
    return ToolResult(content, details, result.is_error)


def escalations_for(
    blocked: Sequence[Blocked],
    objection: Callable[[Escalation], str | None] | None = None,
    *,
    root: str = "",
    shows: bool = False,
) -> tuple[Escalation, ...]:
    """The least that lets all of it through: what can be lifted by itself, or the whole sandbox for this call.

    None for what running the call again would not repair.

    Args:
        objection: why a path is not offered; None if no path is.
        root: the project. Of a repository that it is a folder of, all is offered: git writes in it wherever it works.
        shows: a hidden path is shown to the session instead of letting the call out.
    """
    escalations = []
    for one in blocked:
        if not one.is_reparable:
            continue
        match one.kind:
            case "port" | "socket" if one.what:
                escalations.append(Escalation(one.kind, one.what))
            case "write" if (
                objection is not None
                and (lift := _repository_above(one.what, root) or directory_for(one.what))
                and objection(lift) is None
            ):
                escalations.append(lift)
            case "read" if shows and objection is not None and (lift := _hidden(one.what)) and objection(lift) is None:
                escalations.append(lift)
            case _:
                return (OUTSIDE,)
    return tuple(dict.fromkeys(escalations))


def _repository_above(path: str, root: str) -> Escalation | None:
    """The repository that the project is a folder of, if `path` is among what git notes in it."""
    top, git, inside = os.path.realpath(path).partition("/.git/")
    first = inside.partition("/")[0]
    if not root or not git or first.removesuffix(".lock") not in _DATA_OF_GIT:
        return None
    is_above = os.path.realpath(root).startswith(f"{top}/")
    return Escalation("directory", top) if is_above and top.isprintable() and top.count("/") >= _LEAST_DEPTH else None


def _hidden(path: str) -> Escalation | None:
    """The hidden path that a read needs; None where nobody could read what it is."""
    real = os.path.realpath(path)
    return Escalation("read", real) if os.path.isabs(path) and real.isprintable() else None


def directory_for(path: str) -> Escalation | None:
    """Where a write to `path` needs to be allowed; None where that would not help or nobody could read what it is."""
    if not os.path.isabs(path):
        return None
    real = os.path.realpath(path)
    directory = os.path.dirname(real)
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    if not real.isprintable() or is_obeyed(real) or directory.count("/") < _LEAST_DEPTH:
        return None
    return None if directory.startswith(_OF_THE_SYSTEM) else Escalation("directory", directory)


async def remove_limit(sandbox: SandboxControl, escalation: Escalation) -> None:
    """Remove a limit of the sandbox, other than leaving it, for the rest of the session.

    Raises:
        OSError: the sandbox cannot be changed.
    """
    match escalation.kind:
        case "network":
            sandbox.allow_host(escalation.what)
        case "whole network":
            sandbox.allow_network()
            await sandbox.settle()
        case "port" | "socket":
            await sandbox.admit(escalation.what)
        case "directory":
            await sandbox.change(SandboxChange(writable=(escalation.what,)))
        case "read":
            await sandbox.change(SandboxChange(shown=(escalation.what,)))
