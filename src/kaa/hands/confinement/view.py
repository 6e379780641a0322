"""The file system that slots see: an ordered list of steps from the host's to theirs.

Everything is read-only; writable directories are put on top, what is protected or hidden in them on top of those, and
so on: the longer path wins. Of the directories of the home in which secrets may appear only what was there is shown;
`/tmp`, `/run` and `/dev` are replaced. Pure but for looking at what exists: `building` is for tier `full`, and `bwrap`
gets the same steps as arguments.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from io import FileIO
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from kaa.hands.confinement.layout import Layout, ancestors_within
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.policy import TEMPORARY, Policy

Kind: TypeAlias = Literal[
    "writable",
    "protected",
    "readable",
    "copy",
    "hidden directory",
    "hidden file",
    "temporary",
    "carved",
    "empty",
    "devices",
    "shared memory",
    "link",
    "worktree",
]

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""What there is in `/dev`."""

# All of /run is daemons' sockets and state, but for these: name resolution, and programs of NixOS.
_KEPT_OF_RUN = (
    "/run/systemd/resolve",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
)
_UNCOVERS = frozenset({"writable", "readable", "link", "carved"})  # shows what is there instead of a copy
_PINNED = frozenset({"protected", "hidden directory", "hidden file"})
_FILLED = frozenset({"carved", "hidden directory", "temporary"})  # in which the `.git` of a worktree may be shown
_REPLACED = frozenset({"hidden directory", "temporary", "empty", "devices", "shared memory"})


class ViewStep(NamedTuple):
    """One change of the view.

    Attributes:
        target: where. Made if something above it was replaced.
        kind: what is to be there.
        source: the directory or file of the host that appears there, or what a link says; empty if it is neither.
        has_more: whether later steps put something below it.
    """

    target: str
    kind: Kind
    source: str = ""
    has_more: bool = False


class SlotView(NamedTuple):
    """Steps in the order in which they are to be taken.

    Attributes:
        pins: directories in writable ones that must stay where they are, since something is below that is protected,
            hidden or writable by itself.
    """

    steps: tuple[ViewStep, ...]
    pins: tuple[str, ...]


def plan(policy: Policy, layout: Layout, sockets: list[str]) -> SlotView:
    """Work out the view.

    Args:
        sockets: of daemons of the host, to be hidden.
    """
    replaced = {os.path.realpath(path) for path in (*TEMPORARY, "/run", "/dev") if os.path.isdir(path)}
    carved = {path: entries for path, entries in layout.carved.items() if not is_below_any(path, replaced)}
    wanted: dict[str, ViewStep] = {}
    for path in (*chain(*carved.values()), *layout.readable, *filter(os.path.exists, _KEPT_OF_RUN)):
        wanted[path] = _as_it_is(path)
    for path in carved:
        wanted[path] = ViewStep(path, "carved", path)
    for path in layout.protected:
        wanted[path] = ViewStep(path, "protected", path)
    for path in (*layout.hidden, *sockets):
        wanted[path] = ViewStep(path, "hidden directory" if os.path.isdir(path) else "hidden file")
    for path in layout.writable:
        wanted[path] = ViewStep(path, "writable", path)
    for path in {os.path.realpath(path) for path in TEMPORARY if os.path.isdir(path)}:
        wanted[path] = ViewStep(path, "temporary", policy.temporary)
    for path in layout.worktrees:
        if _can_be_made(policy, path):
            wanted.setdefault(path, ViewStep(path, "worktree"))
    _replace(policy, layout, wanted)
    if os.path.isdir("/run"):
        wanted[os.path.realpath("/run")] = ViewStep(os.path.realpath("/run"), "empty")
    wanted["/dev"] = ViewStep("/dev", "devices")
    wanted["/dev/shm"] = ViewStep("/dev/shm", "shared memory")  # noqa: S108
    steps = _necessary(sorted(wanted.values(), key=lambda step: step.target.count("/")))
    # A project in an added directory, too: commands must not put another one into its place.
    pinned = [step.target for step in steps if step.kind in _PINNED or step.kind == "writable"]
    pins = dict.fromkeys(pin for path in pinned for pin in ancestors_within(path, layout.writable))
    return SlotView(steps, tuple(pins))


def is_replaced(path: str, kinds: Mapping[str, Kind]) -> bool:
    """Whether a path of the host leads to something else in here, or nowhere.

    Args:
        kinds: of the steps that were taken, by their targets.
    """
    above = next((kinds[parent] for parent in ancestors(path) if parent in kinds), None)
    return above in _REPLACED


def open_sockets() -> FileIO:
    """The list of Unix sockets of the caller's network namespace, which it stays when the caller moves on."""
    return FileIO("/proc/net/unix")


def host_sockets(table: FileIO) -> list[str]:
    """Unix sockets that can be found in the file system. Whoever listens there is outside, if the list is the host's.

    proc(5): `Num RefCount Protocol Flags Type St Inode Path`.
    """
    table.seek(0)
    lines = (line.split(None, 7) for line in table.readall().splitlines() if b"/" in line)
    paths = (os.fsdecode(fields[7]) for fields in lines if len(fields) == 8 and fields[7].startswith(b"/"))
    # Most sockets of others are not there any more, or are hidden, and need not be followed to where they are.
    real = (os.path.realpath(path) for path in paths if _is_socket(path))
    return list(dict.fromkeys(path for path in real if _is_socket(path)))


def _replace(policy: Policy, layout: Layout, wanted: dict[str, ViewStep]) -> None:
    """Put copies in the place of directories, and what is seen as it is into them.

    A copy has an empty place for that. What came since has none, and is left out.
    """
    copies = {path: copy for path, copy in policy.replaced if path != copy}
    kept = {path for path, copy in policy.replaced if path == copy}
    for path in kept - wanted.keys():
        wanted[path] = ViewStep(path, "writable" if is_below_any(path, layout.writable) else "readable", path)
    for path, copy in copies.items():
        wanted[path] = ViewStep(path, "copy", copy)
        for other, step in [(one, wanted[one]) for one in wanted if one.startswith(f"{path}/")]:
            if not kept.isdisjoint((other, *ancestors(other))) or other in copies:
                continue
            if step.kind in _UNCOVERS or not os.path.lexists(copy + other[len(path) :]):
                del wanted[other]


def _can_be_made(policy: Policy, path: str) -> bool:
    """Whether directories can be made up to a path. In `/tmp`, a command may have put something else there."""
    for top in map(os.path.realpath, TEMPORARY):
        if policy.temporary and is_below_any(path, [top]):
            place = policy.temporary
            for name in os.path.relpath(path, top).split("/"):
                place = os.path.join(place, name)
                if os.path.lexists(place) and (os.path.islink(place) or not os.path.isdir(place)):
                    return False
    return True


def _as_it_is(path: str) -> ViewStep:
    try:
        return ViewStep(path, "link", os.readlink(path))
    except OSError:  # no link, or gone meanwhile
        return ViewStep(path, "readable", path)


def _necessary(ordered: list[ViewStep]) -> tuple[ViewStep, ...]:
    """Leave out what changes nothing: what is replaced shows nothing to hide, and what is not replaced can be read."""
    taken: dict[str, ViewStep] = {}
    parents: set[str] = set()
    for step in ordered:
        above = next((taken[path] for path in ancestors(step.target) if path in taken), None)
        replaced = above is not None and above.kind in _REPLACED
        match step.kind:
            case "readable" | "link":
                needed = replaced or (above is not None and above.kind in ("carved", "copy"))
            case "worktree":
                needed = above is not None and above.kind in _FILLED
            case "protected":
                needed = above is not None and above.kind in ("writable", "copy")
            case "hidden directory" | "hidden file":
                needed = not replaced
            case _:
                needed = True
        if needed:
            taken[step.target] = step
            parents.update(ancestors(step.target))
    return tuple(step._replace(has_more=step.target in parents) for step in taken.values())


def ancestors(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first."""
    while path != "/":
        path = os.path.dirname(path)
        yield path


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:  # long gone, or of another mount namespace
        return False
