"""What commands see of the user's home, for those who wonder why a program does not find its files."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from kaa.hands.confinement.layout import needed_in_home, real_directories
from kaa.hands.confinement.listing import HomeList
from kaa.hands.policy import Policy
from kaa.workspace.sandbox.denials import Denials

# Where programs keep what they install and how they are set up. Of caches and states it would be too much to read.
_LOOKED_INTO = (".config", ".local/share")


class DotEntries(NamedTuple):
    """Names, relative to the home.

    Attributes:
        seen: dot entries of the home that commands see.
        hidden: those that they do not, and what is hidden in directories that they do see.
        needed: what commands see only because git's configuration or a link in `~/.local/bin` names it.
    """

    seen: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


def dot_entries(policy: Policy, root: str, home: str) -> DotEntries:
    top = os.path.realpath(home)
    writable = real_directories(policy.writes)
    needed = needed_in_home(policy, home)
    usual, listing = HomeList(policy, writable), HomeList(policy, writable, needed)
    denials = Denials(policy, root, home)

    def is_hidden(name: str) -> bool:
        return listing.leaves_out(os.path.join(top, name)) or denials.is_secret(os.path.join(home, name))

    dotted = [name for name in _names(top) if name.startswith(".")]
    folders = [folder for folder in _LOOKED_INTO if not is_hidden(folder)]
    below = [os.path.join(folder, name) for folder in folders for name in _names(os.path.join(top, folder))]
    hidden = [name for name in (*dotted, *below) if is_hidden(name)]
    return DotEntries(
        tuple(name for name in dotted if name not in hidden),
        tuple(hidden),
        tuple(os.path.relpath(path, top) for path in needed if usual.hides(path)),
    )


def _names(directory: str) -> Iterator[str]:
    try:
        yield from sorted(os.listdir(directory))
    except OSError:  # there is none, or no home at all, as for some services
        return
