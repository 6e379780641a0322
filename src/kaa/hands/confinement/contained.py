"""Tier `bwrap`, seen from the hands: bubblewrap has built the view; Landlock and the filter are left to add."""

import os
from collections.abc import Sequence

from kaa.hands.confinement import kernel, landlock
from kaa.hands.confinement.expected_mounts import Expected, check
from kaa.hands.confinement.forked import ForkTier
from kaa.hands.confinement.layout import resolve
from kaa.hands.confinement.restrictions import (
    ALL_FAMILIES,
    PROCESS_LIMIT,
    Restrictions,
    make_filter,
    ruleset_over_mounts,
)
from kaa.hands.mount_table import mounts
from kaa.hands.policy import Policy


def establish(policy: Policy, wanted: Sequence[Expected]) -> ForkTier:
    """Prepare what slots impose on themselves.

    Args:
        wanted: the mounts that bubblewrap must have made.

    Raises:
        ConfinementError: the policy cannot be held.
        ViewChangedError: it has made others.
        OSError: the kernel refused a step.
    """
    check(wanted, mounts())
    kernel.forbid_new_privileges()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    ruleset = ruleset_over_mounts(policy, resolve(policy))
    # All slots share one process namespace, so commands must keep their hands off each other's.
    program = make_filter(ALL_FAMILIES, others_visible=True, ipc_shared=False, ptrace=ruleset is not None)
    ordinary = os.geteuid() != 0
    return ForkTier(
        Restrictions(program, ruleset, limit_processes=ordinary),
        features={
            "namespaces": "by bwrap",
            "landlock": f"ABI {landlock.abi()}" if ruleset else "no",
            "seccomp": "yes",
            "unix sockets": "masked at start",
            "process limit": str(PROCESS_LIMIT) if ordinary else "no",
        },
        warnings=["Commands can connect to unix sockets that your other programs make later: bwrap keeps none apart."],
        own_loopback=policy.network == "isolated",
        confines_signals=ruleset is not None and landlock.abi() >= landlock.SCOPES_ABI,
    )
