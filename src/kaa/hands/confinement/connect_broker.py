"""The connect broker: connects sockets for slots, so that only those of the sandbox are connected to.

Daemons of the host listen on sockets in the file system, also on some that appear while commands run. Namespaces do not
keep a process from connecting to what it can name, and Landlock does only from ABI 9 on. So `connect` of slots is
notified: each slot gives the broker its notification descriptor before its first request, and closes its own copy.

The broker is a process of the fork-server's: in its namespaces, but outside those of the slots. It gives each slot that
connects at all a process of its own, so that none can hold up the others; commands that do not connect pay nothing.
The attendant of a slot for background commands also notes when these may write (`write_calls`).
The cost: peers see the broker's process id (0, that is) where they ask for credentials, names through
/proc cannot be connected to, and unix sockets for datagrams, which need no `connect`, are denied (see `seccomp`).
"""

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from kaa.hands.confinement import bpf, capabilities, connecting, insiders, kernel, seccomp
from kaa.hands.confinement.failed_connections import FailureReporter
from kaa.hands.confinement.notifications import NotificationListener

if TYPE_CHECKING:
    from kaa.hands.confinement.write_calls import CallNotes, WriteCalls

_ENOUGH_SECONDS = 5.0  # for what takes some milliseconds
_READY = b"ready"
_DESCRIPTOR = struct.Struct("@i")
_PLACE = struct.Struct("@i")  # where an attendant notes
_NOWHERE, _WHILE_NEEDED = -1, -2  # or that the pipe is not for reports, but says how long it is needed
_MOST_DESCRIPTORS = 3


class ConnectBrokerError(Exception):
    """There can be no broker here. The message completes "because"."""


class ConnectBroker:
    """The fork-server's and the slots' end.

    Attributes:
        pid: of the broker's process, a child of the fork-server's.
    """

    def __init__(self) -> None:
        """Start the broker from a process of one thread that is in its namespaces for good.

        Raises:
            OSError: there is no process.
        """
        self._channel, brokers_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with brokers_end:
            self.pid = os.fork()
            if self.pid == 0:
                _become_broker(brokers_end)

    def confirm(self) -> None:
        """Wait until the broker has proven that it can do its work.

        Raises:
            ConnectBrokerError: it cannot, and is no more.
        """
        self._channel.settimeout(_ENOUGH_SECONDS)
        try:
            answer = self._channel.recv(256)
        except TimeoutError:
            answer = b"it does not answer"
        self._channel.settimeout(None)
        if answer != _READY:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self._channel.close()
            raise ConnectBrokerError(answer.decode() or "it ended early")

    def take_charge(
        self,
        filter_program: bytes,
        reports: int | None,
        noted: "tuple[WriteCalls, int] | None" = None,
        needed: int | None = None,
    ) -> None:
        """Install a filter that notifies of `connect` on the calling process, and give the broker the descriptor.

        Args:
            reports: the pipe by which the broker tells what fails, if anybody wants to know.
            noted: where calls are noted, for a filter that notifies of these too, and the place of the slot there.
            needed: in place of both, a pipe: once nobody reads it any more, each `connect` fails.

        Raises:
            OSError: the kernel refused, or the broker is gone.
        """
        listener = seccomp.install_notifying(filter_program)
        try:
            descriptors = [
                listener,
                *([] if noted is None else [noted[0].fileno()]),
                *([] if reports is None else [reports]),
                *([] if needed is None else [needed]),
            ]
            place = _WHILE_NEEDED if needed is not None else _NOWHERE if noted is None else noted[1]
            socket.send_fds(self._channel, [_PLACE.pack(place)], descriptors)
        finally:
            os.close(listener)
            self._channel.close()


def _become_broker(channel: socket.socket) -> NoReturn:
    status = 1
    try:
        _detach(channel)
        try:
            _prove()
        except OSError as error:
            channel.send(str(error.strerror or error).encode()[:256])
        else:
            channel.send(_READY)
            _serve(channel)
            status = 0
    finally:
        os._exit(status)


def _detach(channel: socket.socket) -> None:
    """Keep nothing of the fork-server's but what is needed, and do not outlive it."""
    os.chdir("/")
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != channel.fileno():
            with contextlib.suppress(OSError):
                os.close(int(name))
    gc.freeze()  # what is collected later may own descriptors by numbers that mean others then
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each connection that waits takes two
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
    of_root = (capabilities.DAC_OVERRIDE,) if os.geteuid() == 0 else ()  # as slots have it, for names
    capabilities.lay_down_all_but((capabilities.SYS_PTRACE, capabilities.NET_ADMIN, *of_root))
    kernel.forbid_new_privileges()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(channel: socket.socket) -> None:
    """Take the descriptors of slots until there can be no more; give each to a process when it is used first."""
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    charges: dict[int, _Charge] = {}
    while True:
        for descriptor, events in poll.poll():
            if descriptor == channel.fileno():
                data, received = _receive(channel)
                if not received:
                    return
                (place,) = _PLACE.unpack(data)
                calls = [] if place < 0 else [received.pop(1)]
                charges[received[0]] = _Charge(NotificationListener(received[0]), received[1:], calls, place)
                poll.register(received[0], select.POLLIN)
                continue
            poll.unregister(descriptor)
            with contextlib.closing(charges.pop(descriptor)) as charge:
                if events & select.POLLIN:
                    _fork_attendant(charge, channel, charges)


class _Charge(NamedTuple):
    """What a slot gave: where its calls are notified, and perhaps a pipe and where its calls are noted."""

    listener: NotificationListener
    pipe: Sequence[int]
    calls: Sequence[int]
    place: int

    def notes(self) -> "CallNotes | None":
        if not self.calls:
            return None
        from kaa.hands.confinement.write_calls import CallNotes, WriteCalls  # lazy: not of commands in the foreground

        return CallNotes(WriteCalls(self.calls[0]), self.place)

    def close(self) -> None:
        """Let go of all of it."""
        self.listener.close()
        for descriptor in (*self.pipe, *self.calls):
            os.close(descriptor)


def _fork_attendant(charge: _Charge, channel: socket.socket, others: Mapping[int, _Charge]) -> None:
    try:
        pid = os.fork()
    except OSError:  # the slot's connections fail, as its listener is closed
        return
    if pid > 0:
        return
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        channel.close()
        for other in others.values():
            other.close()
        pipe = charge.pipe[0] if charge.pipe else None
        if charge.place == _WHILE_NEEDED:
            connecting.Connector(charge.listener).serve(pipe)
        else:
            reporter = None if pipe is None else FailureReporter(pipe)
            connecting.Connector(charge.listener, reporter, charge.notes()).serve()
    finally:
        os._exit(0)


def _receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Return one message and its descriptors, which close on exec; none of them at the end."""
    space = socket.CMSG_SPACE(_MOST_DESCRIPTORS * _DESCRIPTOR.size)
    data, ancillary, _, _ = channel.recvmsg(_PLACE.size, space, socket.MSG_CMSG_CLOEXEC)
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            whole = len(content) - len(content) % _DESCRIPTOR.size
            return data, [int(number) for (number,) in _DESCRIPTOR.iter_unpack(content[:whole])]
    if data:
        raise OSError("no descriptor came")
    return data, []


def _prove() -> None:
    """Connect a child of ours as a slot's command would be, and try what names in the file system need besides.

    Raises:
        OSError: something does not work here.
    """
    if not insiders.can_ask_for_files():
        raise OSError("sockets do not tell to which file they are bound")
    os.close(connecting.open_file(os.getpid(), b"/"))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()  # or what is sent would lie there for ever if the broker is killed now, and the child wait for it
        _ask_for_connection(theirs)
    theirs.close()
    with ours:
        _, received = _receive(ours)
        if not received:
            raise OSError("the kernel does not notify of system calls, or notifies somebody else already")
        with contextlib.closing(NotificationListener(received[0])) as listener:
            asked = connecting.Connector(listener).serve()
        if not asked:
            raise OSError("the kernel does not notify of system calls")
        if not ours.recv(1):
            raise OSError("other processes' sockets are out of its reach")


def _ask_for_connection(channel: socket.socket) -> NoReturn:
    try:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # as a program is that was just started
        program = [bpf.load(bpf.NUMBER_OFFSET), *bpf.on_call(kernel.number_of("connect"), [bpf.notify()]), bpf.allow()]
        listener = seccomp.install_notifying(bpf.encode(program))
        socket.send_fds(channel, [b"."], [listener])
        os.close(listener)
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind("")  # the kernel finds an abstract name
            server.listen()
            client.connect(server.getsockname())
        channel.send(b".")
    finally:
        os._exit(0)
