"""Which mechanisms to try on this machine, strongest first, and how hands are started in each."""

import os
import sys

from kaa.hands.policy import Policy, Tier
from kaa.workspace.hands import UNWRAPPED, Wrapper

_BWRAP = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_SANDBOX_EXEC = "/usr/bin/sandbox-exec"


def tiers_to_try() -> tuple[Tier, ...]:
    """The tiers worth a try here; the last one, which confines nothing, always works."""
    if sys.platform == "darwin":
        return ("seatbelt", "none")
    if sys.platform != "linux":
        return ("none",)
    return ("full", "bwrap", "landlock", "none") if _bwrap() else ("full", "landlock", "none")


def wrapper(policy: Policy, home: str) -> Wrapper:
    """Through what hands with this policy are started, as things are now.

    Raises:
        ConfinementError: the policy makes no sense on this machine.
    """
    if policy.tier == "bwrap":
        from kaa.hands.confinement.bwrap import bwrap_view  # lazily: only where user namespaces are restricted

        view = bwrap_view(policy, home)
        return Wrapper((_bwrap() or "bwrap", *view.arguments), tuple(view.mounts))
    if policy.tier == "seatbelt":
        from kaa.hands.confinement.seatbelt import profile  # lazily: only on macOS

        return Wrapper((_SANDBOX_EXEC, "-p", profile(policy, home)))
    return UNWRAPPED


def _bwrap() -> str | None:
    return next((path for path in _BWRAP if os.access(path, os.X_OK)), None)
