"""Chooses the walls: the tier that the policy names, and what has to hold in each."""

import os
from collections.abc import Iterable, Sequence

from kaa.hands.confinement import full
from kaa.hands.confinement.contract import Confinement, ConfinementError, Unconfined
from kaa.hands.confinement.layout import own_code, real_directories
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.policy import Policy


def establish(
    policy: Policy, home: str, join: Sequence[int] = (), mounts: Sequence[tuple[str, str]] = ()
) -> Confinement:
    """Build the walls, in the fork-server, while it has one thread and before anything else.

    Args:
        join: descriptors of the namespaces of earlier hands, to share their network. Only used by tier `full`.
        mounts: what a wrapper must have mounted. Only used by tier `bwrap`.

    Raises:
        ConfinementError: the tier cannot be held here.
        ViewChangedError: files were replaced meanwhile.
    """
    if policy.mode == "full-access":
        return Unconfined()
    try:
        confinement = _of_tier(policy, home, join, mounts)
    except OSError as error:
        raise ConfinementError(f"the kernel refused: {error.strerror}") from error
    if is_below_any(os.path.realpath(home), real_directories(policy.writes)):
        confinement.warnings.append(
            "Commands can write your whole home directory, including files that programs execute when they start, such"
            " as .bashrc. Start kaa in the directory of a project instead."
        )
    if os.geteuid() == 0 and policy.tier != "none":
        confinement.features["user"] = "root: commands can read the files of all users, except what is hidden"
    has_mounts = policy.tier not in ("landlock", "seatbelt")  # else nothing in the project can be protected
    if own := _exposed(policy, (path for path in (*policy.executed, *own_code()) if path not in policy.obeyed)):
        if not has_mounts:
            raise ConfinementError(
                f"kaa itself runs from {own}, and nothing would keep commands from changing it: keep kaa and its"
                " extensions outside the project"
            )
        confinement.warnings.append(
            f"kaa itself runs from {own}: commands cannot change it. Use another virtual environment for the project,"
            " or keep kaa outside it; install an extension with --link instead of naming it with -e."
        )
    if own := _exposed(policy, policy.obeyed):
        if not has_mounts:
            raise ConfinementError(
                f"kaa obeys {own}, and nothing would keep commands from changing it: keep it outside the project"
            )
        confinement.warnings.append(f"kaa obeys {own}: commands cannot change it here.")
    return confinement


def _exposed(policy: Policy, paths: Iterable[str]) -> str:
    """The first of these paths that is in a writable directory; empty if there is none."""
    writable = real_directories(policy.writes)
    real = map(os.path.realpath, filter(os.path.exists, paths))
    return next((path for path in real if is_below_any(path, writable)), "")


def _of_tier(policy: Policy, home: str, joined: Sequence[int], mounts: Sequence[tuple[str, str]]) -> Confinement:
    match (
        policy.tier
    ):  # the strongest one is loaded while the brain prepares; of the others each loads only its own code
        case "full":
            return full.establish(policy, home, joined)
        case "bwrap":
            from kaa.hands.confinement import contained

            return contained.establish(policy, mounts)
        case "landlock":
            from kaa.hands.confinement import landlocked

            return landlocked.establish(policy, home)
        case "seatbelt":
            from kaa.hands.confinement import seatbelt

            return seatbelt.establish()
        case "none":
            return Unconfined()
