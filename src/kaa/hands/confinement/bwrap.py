"""Tier `bwrap`, seen from the brain: the arguments with which bubblewrap builds the view of tier `full`.

For machines where ordinary programs may not use user namespaces but bubblewrap may, as Ubuntu has it since 23.10.
Needs bubblewrap 0.5 or later, for `--perms`.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kaa.hands.confinement import canaries
from kaa.hands.confinement.expected_mounts import Expected, expected
from kaa.hands.confinement.layout import resolve
from kaa.hands.confinement.view import SlotView, ViewStep, host_sockets, open_sockets, plan
from kaa.hands.mount_table import mounts
from kaa.hands.policy import Policy

# The same that root keeps elsewhere, see `capabilities`.
_KEPT_BY_ROOT = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID")


class BwrapView(NamedTuple):
    """A view for bubblewrap.

    Attributes:
        arguments: everything between `bwrap` and the program to run.
        mounts: what it must have mounted then, for `expected_mounts.check`.
    """

    arguments: list[str]
    mounts: list[Expected]


def bwrap_view(policy: Policy, home: str) -> BwrapView:
    """The view of a policy.

    There is no `--die-with-parent`: it means the thread that started bwrap, which need not live as long as the brain.
    Hands end when their control socket does, and everything in their process namespace with them.

    Raises:
        ConfinementError: the policy makes no sense on this machine.
    """
    # Canaries of other hands are gone before bwrap gets there, and then it would not start.
    with open_sockets() as table:
        sockets = [path for path in host_sockets(table) if canaries.PREFIX not in path]
    view = plan(policy, resolve(policy, home), sockets)
    network = ["--unshare-net"] if policy.network == "isolated" else []
    arguments = [
        *("--unshare-pid", "--unshare-ipc", *network, "--new-session", *_identity()),
        *("--ro-bind", "/", "/"),
        *(argument for step in view.steps for argument in _step(step, view)),
        *(argument for step in view.steps if _is_filled_later(step) for argument in ("--remount-ro", step.target)),
        *("--proc", "/proc", "--chdir", "/", "--"),
    ]
    buried = [path for step in view.steps if step.kind == "writable" for path in _buried(step, view)]
    return BwrapView(arguments, expected(view.steps, buried, list(mounts())))


def _identity() -> Iterator[str]:
    yield from ("--cap-drop", "ALL")
    if os.geteuid() == 0:  # in a user namespace bwrap knows one user only, but root works on files of all
        for capability in _KEPT_BY_ROOT:
            yield from ("--cap-add", capability)
    else:
        yield "--unshare-user"


def _step(step: ViewStep, view: SlotView) -> Iterator[str]:
    match step.kind:
        case "writable":
            for path in _buried(step, view):
                yield from ("--bind", path, path)  # see `Builder`
            yield from ("--bind", step.source, step.target)
        case "readable" | "protected" | "copy":
            # Files of the home come and go.
            yield from ("--ro-bind" if step.kind != "readable" else "--ro-bind-try", step.source, step.target)
        case "temporary" if step.source:
            yield from ("--bind", step.source, step.target)
        case "temporary" | "shared memory":
            yield from ("--perms", "1777", "--tmpfs", step.target)
        case "carved":
            yield from ("--perms", f"{stat.S_IMODE(os.stat(step.source).st_mode):04o}", "--tmpfs", step.target)
        case "empty" | "worktree":
            yield from ("--tmpfs" if step.kind == "empty" else "--dir", step.target)
        case "hidden directory":
            yield from ("--perms", "0111" if step.has_more else "0000", "--tmpfs", step.target)
        case "hidden file":
            yield from ("--ro-bind", "/dev/null", step.target)  # without devices: nobody can open it
        case "link":
            yield from ("--symlink", step.source, step.target)
        case "devices":
            yield from ("--dev", step.target)


def _buried(step: ViewStep, view: SlotView) -> Sequence[str]:
    """What is mounted over itself before a writable directory is mounted over it."""
    pins = [pin for pin in view.pins if pin.startswith(step.target + "/")]
    return (step.target, *pins) if pins else ()


def _is_filled_later(step: ViewStep) -> bool:
    return step.kind in ("carved", "empty", "hidden directory")
