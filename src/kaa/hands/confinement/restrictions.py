"""What a slot imposes on itself in every tier: limits, Landlock, no capabilities, a filter of system calls."""

import os
import resource
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from kaa.hands.confinement import capabilities, kernel, landlock, seccomp
from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.kernel import architecture
from kaa.hands.confinement.landlock import Ruleset
from kaa.hands.confinement.layout import Layout
from kaa.hands.policy import Policy

if TYPE_CHECKING:
    from kaa.hands.confinement.connect_broker import ConnectBroker
    from kaa.hands.confinement.write_calls import WriteCalls

PROCESS_LIMIT = 4096
ALL_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)  # AF_NETLINK, which other systems lack

# Landlock before this denies all renames between directories. Where namespaces are the first wall, it had better not.
_RENAMING_ABI = 2


class Restrictions:
    """Made once by the fork-server, imposed by each slot."""

    def __init__(
        self,
        filter_program: bytes,
        ruleset: Ruleset | None,
        limit_processes: bool,
        connect_broker: "ConnectBroker | None" = None,
        noting_program: Callable[[], bytes] | None = None,
    ) -> None:
        """Take what was made.

        Args:
            filter_program: notifies if there is a connect broker.
            limit_processes: by their number for a user.
            noting_program: makes the filter of slots whose calls are noted.
        """
        self._filter_program = filter_program
        self._ruleset = ruleset
        self._limit_processes = limit_processes
        self._connect_broker = connect_broker
        self._noting_program = noting_program
        self._capabilities = capabilities.FILES_OF_OTHERS if os.geteuid() == 0 else ()

    def impose(
        self,
        reports: int | None = None,
        noted: "tuple[WriteCalls, int] | None" = None,
        needed: int | None = None,
    ) -> None:
        """Confine the calling process and everything it will start.

        Args:
            reports: where the connect broker, if there is one, tells of connections that fail.
            noted: where its calls that can create and open files are noted, and its place there.
            needed: a pipe: once nobody reads it any more, the connect broker lets go of the process.

        Raises:
            OSError: the kernel refused.
        """
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # commands can neither trace us nor read our memory
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self._limit_processes:
            _lower(resource.RLIMIT_NPROC, PROCESS_LIMIT)
        if self._ruleset is not None:
            self._ruleset.impose()
        capabilities.drop_all_but(self._capabilities)  # before the filter, after all that needs them
        if self._connect_broker is None:
            seccomp.install(self._filter_program)
        elif noted is None or self._noting_program is None:
            self._connect_broker.take_charge(self._filter_program, reports, needed=needed)
        else:
            self._connect_broker.take_charge(self._noting_program(), reports, noted)


def make_filter(
    families: tuple[int, ...],
    others_visible: bool,
    ipc_shared: bool,
    ptrace: bool,
    notify: bool = False,
    note: bool = False,
) -> bytes:
    """The program for this machine.

    Raises:
        ConfinementError: we do not know its system calls.
    """
    machine = architecture()
    if machine is None:
        raise ConfinementError(f"kaa does not know the system calls of this machine ({os.uname().machine})")
    return seccomp.program(machine, families, others_visible, ipc_shared, ptrace, notify, note)


def ruleset_over_mounts(policy: Policy, layout: Layout) -> Ruleset | None:
    """Landlock as one more wall behind the view: what is not writable there is not writable here either.

    Returns:
        None where the kernel has no Landlock, or none that would do.
    """
    version = landlock.abi()
    if version < _RENAMING_ABI:
        return None
    # Loopback is needed, and the network namespace confines ports; it confines abstract sockets, too.
    scopes = landlock.SCOPE_SIGNAL | (0 if policy.network == "isolated" else landlock.SCOPE_ABSTRACT_UNIX)
    ruleset = Ruleset(version, network=True, scopes=scopes)
    ruleset.allow("/", landlock.READ)
    for path in (*layout.writable, "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108 all three are private
        ruleset.allow(path, landlock.WRITE)
    ruleset.allow("/dev/pts", landlock.DEVICE | landlock.READ_DIR)
    allow_devices(ruleset)
    return ruleset


def allow_devices(ruleset: Ruleset) -> None:
    """Rights on the few devices that every program may use."""
    for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx"):
        ruleset.allow(f"/dev/{name}", landlock.DEVICE)


def _lower(which: int, limit: int) -> None:
    _, hard = resource.getrlimit(which)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(which, (limit, limit))
