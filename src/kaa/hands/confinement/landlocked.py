"""Tier `landlock`: no namespaces, as in most containers. Landlock as the first wall, the filter as the second.

What lies in a writable directory can be neither hidden nor protected here: that is left to asking and to the guard.
"""

import os
import socket
from collections.abc import Iterator

from kaa.hands.confinement import kernel, landlock
from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.forked import ForkTier
from kaa.hands.confinement.landlock import Ruleset
from kaa.hands.confinement.layout import Layout, resolve
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.confinement.restrictions import ALL_FAMILIES, Restrictions, allow_devices, make_filter
from kaa.hands.policy import Policy

_UNIX_SOCKETS_ABI = 9  # before, a socket of a daemon anywhere in the file system could be connected to


def establish(policy: Policy, home: str) -> ForkTier:
    """Prepare what slots impose on themselves.

    Raises:
        ConfinementError: the policy cannot be held.
        OSError: the kernel refused a step.
    """
    version = landlock.abi()
    if version < 1:
        raise ConfinementError("the kernel has no Landlock, or it is switched off or forbidden here")
    layout = resolve(policy, home)
    isolated = policy.network == "isolated"
    scopes = landlock.SCOPE_SIGNAL | landlock.SCOPE_ABSTRACT_UNIX
    ruleset = Ruleset(version, network=not isolated, scopes=scopes)
    for path, rights in _readable(layout):
        ruleset.allow(path, rights)
    temporary = (os.path.realpath(policy.temporary),) if policy.temporary else ()
    for path in (*layout.writable, *temporary):
        ruleset.allow(path, landlock.WRITE, real=True)
    allow_devices(ruleset)
    families = () if isolated else tuple(family for family in ALL_FAMILIES if family != socket.AF_UNIX)
    if version >= _UNIX_SOCKETS_ABI:
        families = (socket.AF_UNIX, *families)
    program = make_filter(families, others_visible=True, ipc_shared=True, ptrace=True)
    kernel.forbid_new_privileges()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    features = {"namespaces": "no", "landlock": f"ABI {version}", "seccomp": "yes", "process limit": "no"}
    return ForkTier(
        Restrictions(program, ruleset, limit_processes=False),
        features,
        warnings=[*_warnings(version, isolated, layout), *layout.warnings],
        own_loopback=False,
        confines_signals=version >= landlock.SCOPES_ABI,
    )


def _readable(layout: Layout) -> Iterator[tuple[str, int]]:
    """Rights to read everything but what is hidden and devices.

    Landlock can only allow, and what it allows holds for everything below. So next to the way to something hidden each
    neighbour is allowed by itself; directories along the way can be listed, which gives away names only. What appears
    there later has no rights.
    """
    closed = {path for path in (*layout.hidden, "/dev") if not is_below_any(path, layout.writable)}
    on_the_way = {"/", *layout.carved}
    for path in (*closed, *layout.carved):
        while (path := os.path.dirname(path)) != "/":
            on_the_way.add(path)
    yield "/", landlock.READ_DIR
    for directory in on_the_way:
        if is_below_any(directory, closed):
            continue
        for path in layout.carved[directory] if directory in layout.carved else _entries(directory):
            if path not in closed and path not in on_the_way and not os.path.islink(path):
                yield path, landlock.READ
    for path in layout.readable:  # what is below something closed or not listed
        if not is_below_any(path, layout.writable) and not any(is_below_any(other, [path]) for other in closed):
            yield path, landlock.READ


def _entries(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory)]
    except OSError:  # unreadable for us, then for slots as well
        return []


def _warnings(version: int, isolated: bool, layout: Layout) -> Iterator[str]:
    if os.geteuid() == 0:
        yield "Running as root weakens the sandbox: commands can change the owner and the permissions of any file."
    else:
        yield "Commands can change permissions and times of your files: Landlock cannot prevent that."
    if isolated:
        yield (
            "Commands have no network here, not even loopback, and single hosts cannot be permitted: /net on gives them"
            " this machine's whole network."
        )
    if version < landlock.SCOPES_ABI:
        yield "Commands can send signals to your other programs: this needs Linux 6.12 or namespaces to prevent."
    if layout.protected:
        yield (
            "Commands can write .git here, and what other tools execute or obey in the project: that is taken back a"
            " moment later, but not what they change in .git besides hooks and configuration."
        )
    exposed = [path for path in layout.hidden if is_below_any(path, layout.writable)]
    if exposed:
        yield f"Commands can read what lies in a writable directory: {', '.join(exposed)} cannot be hidden here."
