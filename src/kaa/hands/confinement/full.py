"""Tier `full`: namespaces as the first wall, the filter of system calls as the second, Landlock as the third."""

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kaa.hands.below import RootDirectory
from kaa.hands.confinement import kernel, landlock, mounts, namespaces
from kaa.hands.confinement.building import Builder
from kaa.hands.confinement.connect_broker import ConnectBroker, ConnectBrokerError
from kaa.hands.confinement.contract import Confinement
from kaa.hands.confinement.holding import ReadOnlyMounts
from kaa.hands.confinement.layout import Layout, resolve
from kaa.hands.confinement.masks import Masks
from kaa.hands.confinement.restrictions import (
    ALL_FAMILIES,
    PROCESS_LIMIT,
    Restrictions,
    make_filter,
    ruleset_over_mounts,
)
from kaa.hands.confinement.upkeep import Upkeep
from kaa.hands.confinement.view import SlotView, host_sockets, open_sockets, plan
from kaa.hands.policy import Policy

if TYPE_CHECKING:
    from kaa.hands.confinement.arrivals import Arrivals
    from kaa.hands.confinement.live_files import LiveFiles
    from kaa.hands.confinement.view_watch import ViewWatch
    from kaa.hands.confinement.worktrees import LaterWorktrees
    from kaa.hands.confinement.write_calls import WriteCalls

_PER_NAMESPACE_PROCESS_LIMIT = (6, 14)  # before, root would lower it for the whole machine
_FIRST_WITH_CONTINUE = (5, 5)  # calls that were notified can go on
# What root could change about the machine, and what it could read of the kernel, through a /proc of its own.
_CHANGES_MACHINE = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
_TELLS_OF_KERNEL = ("kcore", "keys", "key-users", "timer_list", "sched_debug", "latency_stats", "kmsg", "kpagecount")


class Shows:
    """What the user has in /tmp, and new in the home. Nothing is shown until somebody asks for it.

    The directories of the host are opened at once, before the view covers them.
    """

    def __init__(self, policy: Policy, home: str, view: SlotView, layout: Layout) -> None:
        self._given = policy, home, view, layout
        top = os.path.realpath(home)
        shown = (
            step for step in view.steps if step.kind == "temporary" or (step.kind == "carved" and step.target == top)
        )
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._directories = {step.target: os.open(step.target, flags) for step in shown}
        self._arrivals: list[Arrivals] | None = None
        self._worktrees: LaterWorktrees | None = None

    def catch_up(self) -> bool:
        """Show what is there by now. Returns whether anything has changed."""
        if self._arrivals is None:
            from kaa.hands.confinement.arrivals import arrivals  # lazy: a chat without tools needs none

            self._arrivals = arrivals(*self._given, self._directories)
        changed = any([one.catch_up() for one in self._arrivals])  # noqa: C419 - all of them, whatever the first says
        if self._worktrees is None:
            from kaa.hands.confinement.worktrees import LaterWorktrees  # lazy: as above

            _, home, view, layout = self._given
            top = os.path.realpath(home)
            self._worktrees = LaterWorktrees(view, layout, RootDirectory(top, self._directories.get(top, -1)))
        self._worktrees.catch_up()
        return changed

    @property
    def hidden(self) -> Sequence[str]:
        """Patterns for secrets of the home that links lead to which are not shown."""
        return [pattern for one in self._arrivals or () for pattern in one.hidden]

    def leave(self) -> None:
        """In a slot: let go of what leads to the directories of the host."""
        for one in self._arrivals or ():
            one.leave()
        for descriptor in self._directories.values():
            os.close(descriptor)


class FullTier(Confinement):
    """Slots are the first processes of process namespaces of their own, in the fork-server's other namespaces."""

    owns_process_namespace = True
    confines_signals = True

    def __init__(
        self,
        policy: Policy,
        restrictions: Restrictions,
        upkeep: Upkeep,
        holding: ReadOnlyMounts,
        shows: Shows,
        landlock_version: int,
        live: "LiveFiles | None",
        notes_calls: bool,
    ) -> None:
        self._network = policy.network == "isolated"
        self._restrictions = restrictions
        self._upkeep = upkeep
        self._holding = holding
        self._shows = shows
        self._landlock = landlock_version
        self._live = live
        self.notes_calls = notes_calls
        self._write_calls: WriteCalls | None = None
        self._view_watch: ViewWatch | None = None
        self._root = os.geteuid() == 0
        self.features = {
            "namespaces": "user, mount, process, IPC" + (", network" if self._network else ""),
            "landlock": f"ABI {landlock_version}" if landlock_version else "no",
            "seccomp": "yes",
            "process limit": str(PROCESS_LIMIT) if not self._root or _limits_processes() else "no",
        }
        self.warnings = list(_warnings(self._network, landlock_version))

    def fork(self) -> int:
        """Fork a slot into a process and a mount namespace of its own."""
        self.catch_up()
        return kernel.fork_into(namespaces.NEW_PROCESS | namespaces.NEW_MOUNT)

    def catch_up(self) -> None:
        """Hide secrets and sockets that appeared since, and hold protected names unless released, in all slots."""
        if self._live is not None:
            self._live.catch_up()  # first: what it shows may be hidden
        if not self._holding.is_released:
            self._holding.hold()
        self._upkeep.catch_up()

    def hold(self) -> None:
        """Hold and hide what was replaced, in all slots."""
        self._holding.hold()
        self._upkeep.hide_again()

    def show(self) -> None:
        """Show what appeared, in all slots, and hide what is secret in it."""
        if self._shows.catch_up():
            self._upkeep.await_behind_links(self._shows.hidden)
            self._upkeep.catch_up()

    def watch_view(self) -> "ViewWatch | None":
        """Notice from now on what is to be hidden, where the system has watches left."""
        with contextlib.suppress(OSError):
            self._view_watch = self._upkeep.view_watch(self._live)
        return self._view_watch

    def release(self) -> None:
        """Let go of what was not held from the start."""
        self._holding.release()

    def beneath(self, directories: Sequence[str]) -> Sequence[RootDirectory]:
        """Return clones of directories without what is mounted in them, where the kernel allows it."""
        found = []
        for path in directories:
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    found.append(RootDirectory(path, mounts.clone_alone(handle)))
                finally:
                    os.close(handle)
        return found

    @property
    def write_calls(self) -> "WriteCalls | None":
        """What the connect broker's attendants note. Slots share it with those that are forked later."""
        if self._write_calls is None and self.notes_calls:
            from kaa.hands.confinement.write_calls import WriteCalls  # lazy: a chat without tools needs none

            self._write_calls = WriteCalls()
        return self._write_calls

    def enclose(self, reports: int | None = None, place: int | None = None, needed: int | None = None) -> None:
        self._shows.leave()
        for one in (self._view_watch, self._live):
            if one is not None:
                one.close()
        mounts.follow()
        try:
            mounts.proc("/proc")
        except PermissionError:
            # In a container whose /proc has masks the kernel allows no other. With Landlock the old one tells no more
            # than which processes there are and how they were called.
            if not self._landlock:
                raise
        else:
            if _limits_processes():
                _write("/proc/sys/kernel/pid_max", str(PROCESS_LIMIT))
            if self._root:
                _protect_machine()
        noted = self._write_calls
        self._restrictions.impose(reports, None if noted is None or place is None else (noted, place), needed)

    def namespaces(self) -> Sequence[int]:
        """Of users, network (unless it is the host's) and IPC."""
        return namespaces.descriptors(self._network)

    def proxy_listener(self) -> socket.socket | None:
        """On the loopback address of the network namespace."""
        return socket.create_server(("127.0.0.1", 0)) if self._network else None


def establish(policy: Policy, home: str, joined: Sequence[int]) -> FullTier:
    """Move the calling process into its namespaces and prepare what slots impose on themselves.

    Raises:
        ConfinementError: the policy cannot be held.
        OSError: the kernel refused a step.
    """
    layout = resolve(policy, home)
    sockets = open_sockets()
    view = plan(policy, layout, host_sockets(sockets))
    with _unreachable_directory(policy) as unreachable:
        namespaces.enter(joined, network=policy.network == "isolated")
        mounts.make_private()
        broker = ConnectBroker() if policy.network == "isolated" else None  # its self-test runs meanwhile
        shared = _share_caches(policy, layout)
        masks = Masks(unreachable)
        shows = Shows(policy, home, view, layout)
        live = _live_files(policy, view)
        Builder(view, masks).build()
        if live is not None:
            live.begin()
        masks.let_go_of_unreachable()
    mounts.share()
    kernel.forbid_new_privileges()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    ruleset = ruleset_over_mounts(policy, layout)
    upkeep = Upkeep(policy, view, layout.writable, masks, sockets)
    holding = ReadOnlyMounts(layout.protected, layout.awaited)
    obstacle = _obstacle(broker)
    broker = None if obstacle else broker
    make = partial(make_filter, ALL_FAMILIES, others_visible=False, ipc_shared=False, ptrace=True)
    restrictions = Restrictions(
        make(notify=broker is not None),
        ruleset,
        limit_processes=os.geteuid() != 0,
        connect_broker=broker,
        noting_program=partial(make, notify=True, note=True),
    )
    version = landlock.abi() if ruleset else 0
    notes_calls = broker is not None and _release() >= _FIRST_WITH_CONTINUE
    full = FullTier(policy, restrictions, upkeep, holding, shows, version, live, notes_calls)
    full.warnings += layout.warnings
    full.features["toolchain caches"] = shared
    if broker is None:
        full.features["unix sockets"] = "masked once seen"
        full.warnings.append(f"Commands can connect to unix sockets that your other programs make later: {obstacle}.")
    else:
        full.features["unix sockets"] = "only of the sandbox"
        full.helpers = frozenset({broker.pid})
    return full


def _live_files(policy: Policy, view: SlotView) -> "LiveFiles | None":
    if not policy.replaced:
        return None
    from kaa.hands.confinement.live_files import LiveFiles  # lazy: only servers see copies of their code

    return LiveFiles(policy, view)


def _share_caches(policy: Policy, layout: Layout) -> str:
    if not layout.shared:
        return "none of yours"
    from kaa.hands.confinement.shared_caches import share_caches  # lazy: many users have none

    return share_caches(policy, layout)


def _obstacle(broker: ConnectBroker | None) -> str:
    """Why there can be nobody who decides about connections to unix sockets; empty if there is somebody."""
    if broker is None:
        return "only a network of their own keeps theirs and yours apart"
    try:
        broker.confirm()
    except ConnectBrokerError as error:
        return str(error)
    return ""


def _warnings(isolated: bool, landlock_version: int) -> Iterator[str]:
    if not isolated and landlock_version < landlock.SCOPES_ABI:
        yield "Commands can connect to abstract sockets of your other programs: this needs Linux 6.12 to prevent."


@contextlib.contextmanager
def _unreachable_directory(policy: Policy) -> Iterator[str | None]:
    """A directory on which root has no rights in the user namespace, since its owner does not exist there.

    Root keeps the right to pass over permissions, but only for files of users that it knows. Where the file system of
    the temporary directory has no such owners, and for ordinary users, who need none, there is no such directory.
    """
    owner = namespaces.unmapped_id()
    if owner is None or not policy.temporary:
        yield None
        return
    parent = os.open(policy.temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    name = f".kaa-unreachable-{os.urandom(8).hex()}"  # commands of earlier hands work in there too
    os.mkdir(name, 0, dir_fd=parent)
    try:
        try:
            os.chown(name, owner, -1, dir_fd=parent, follow_symlinks=False)
        except OSError:
            yield None
        else:
            yield os.path.join(os.path.realpath(policy.temporary), name)
    finally:
        with contextlib.suppress(OSError):  # it lives on where it is mounted
            os.rmdir(name, dir_fd=parent)
        os.close(parent)


def _limits_processes() -> bool:
    return _release() >= _PER_NAMESPACE_PROCESS_LIMIT


def _release() -> tuple[int, int]:
    release = os.uname().release.split(".")
    return int(release[0]), int("".join(c for c in release[1] if c.isdigit()) or 0)


def _write(path: str, text: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, text.encode())
        os.close(descriptor)


def _protect_machine() -> None:
    for name in _CHANGES_MACHINE:
        _bind_onto_itself(f"/proc/{name}")
    for name in _TELLS_OF_KERNEL:
        _hide(f"/proc/{name}")


def _bind_onto_itself(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            mounts.bind(handle, path)
            mounts.make_read_only(path)
        finally:
            os.close(handle)


def _hide(path: str) -> None:
    if os.path.exists(path):
        handle = os.open("/dev/null", os.O_PATH | os.O_CLOEXEC)
        try:
            mounts.bind(handle, path)
            mounts.freeze(path)
        finally:
            os.close(handle)
