"""Chooses the walls: the tier that the policy names, and what has to hold in each."""

import os
from collections.abc import Sequence

from kaa.hands.confinement.contract import Confinement, ConfinementError, Unconfined
from kaa.hands.confinement.layout import own_code, real_directories
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.policy import Policy


def establish(policy: Policy, home: str, join: Sequence[int] = ()) -> Confinement:
    """Build the walls, in the fork-server, while it has one thread and before anything else.

    Args:
        policy: what is to be allowed.
        home: the user's home directory.
        join: descriptors of the namespaces of earlier hands, to share their network. Only used by tier `full`.

    Raises:
        ConfinementError: the tier cannot be held here.
    """
    if policy.mode == "full-access":
        return Unconfined()
    try:
        confinement = _of_tier(policy, home, join)
    except OSError as error:
        raise ConfinementError(f"the kernel refused: {error.strerror}") from error
    if is_below_any(os.path.realpath(home), real_directories(policy.writes)):
        confinement.warnings.append(
            "Your whole home directory is writable for commands, with what programs execute from it when they start,"
            " such as .bashrc. Better start in the directory of a project."
        )
    if os.geteuid() == 0 and policy.tier != "none":
        confinement.features["user"] = "root: commands can read the files of all users, except what is hidden"
    if own := _exposed_code(policy):
        if policy.tier in ("landlock", "seatbelt"):  # without mounts nothing in the project can be protected
            raise ConfinementError(
                f"kaa itself runs from {own}, and nothing would keep commands from changing it: keep kaa and its"
                " extensions outside the project"
            )
        confinement.warnings.append(
            f"kaa itself runs from {own}: commands cannot change it. Use another virtual environment for the project,"
            " or keep kaa and its extensions outside it."
        )
    return confinement


def _exposed_code(policy: Policy) -> str:
    """What in a writable directory the brain or the hands run from; empty if there is nothing."""
    writable = real_directories(policy.writes)
    paths = map(os.path.realpath, filter(os.path.exists, (*policy.executed, *own_code())))
    return next((path for path in paths if is_below_any(path, writable)), "")


def _of_tier(policy: Policy, home: str, joined: Sequence[int]) -> Confinement:
    match policy.tier:  # each tier loads only its own code: hands start in 20 ms
        case "full":
            from kaa.hands.confinement import full

            return full.establish(policy, home, joined)
        case "bwrap":
            from kaa.hands.confinement import contained

            return contained.establish(policy)
        case "landlock":
            from kaa.hands.confinement import landlocked

            return landlocked.establish(policy, home)
        case "seatbelt":
            from kaa.hands.confinement import seatbelt

            return seatbelt.establish()
        case "none":
            return Unconfined()
