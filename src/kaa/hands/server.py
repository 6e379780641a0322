"""The fork-server: a small process with one thread that forks slots, so that starting one costs no interpreter."""

import contextlib
import gc
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from kaa.hands import processes, slot, wire
from kaa.hands.confinement import repositories
from kaa.hands.confinement.canaries import Canaries
from kaa.hands.confinement.contract import Confinement, ConfinementError, ViewChangedError
from kaa.hands.confinement.establishing import establish
from kaa.hands.confinement.selftest import self_test
from kaa.hands.connection import WireConnection
from kaa.hands.policy import Policy
from kaa.hands.settings import HandsSettings
from kaa.hands.wire import integer, text

if TYPE_CHECKING:
    from kaa.hands.confinement.view_watch import ViewWatch

_LAST_WORDS_SECONDS = 2.0  # for slots to stop what they run once the brain is gone


def main() -> NoReturn:
    """Serve the control socket, which is standard input, until its other end is gone."""
    control = _take_over_stdin()
    _look_ahead(control)
    connection = WireConnection(control)
    first = connection.receive()
    if first is None:
        os._exit(0)
    settings, policy = HandsSettings.parse(first.header), Policy.parse(first.header)
    processes.allow_open_files()
    try:
        confinement, prepared = _confine(connection, settings, policy)
    except ConfinementError as error:
        connection.send({"failed": str(error)})
        os._exit(1)
    except ViewChangedError as error:
        connection.send({"changed": str(error)})
        os._exit(1)
    server = ForkServer(connection, settings, policy, confinement, prepared)
    gc.collect()
    gc.freeze()  # what is loaded so far is never collected, so its pages stay shared with the slots
    server.serve()
    os._exit(0)


class PreparedSlot(NamedTuple):
    """A slot for files that nobody has asked for yet, and the brain's end of its socket."""

    pid: int
    socket: socket.socket


def _confine(
    connection: WireConnection, settings: HandsSettings, policy: Policy
) -> tuple[Confinement, PreparedSlot | None]:
    """Put this process where the policy wants it, prove that it holds, and tell the brain.

    Returns:
        Besides the walls the slot that has proven them, if it can be used: the first one that a brain asks for is one
        for files.

    Raises:
        ConfinementError: the kernel cannot hold the policy, or did not.
        ViewChangedError: files were replaced meanwhile.
    """
    joined, connection.descriptors = connection.descriptors, []
    brains_end, slots_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with slots_end, Canaries.prepare(policy) as canaries:
        confinement = establish(policy, settings.home, joined, settings.mounts)
        repositories.forget_found()  # where there are no walls, or none there, it was not asked for
        # Only there is all of what the slot has open named in a /proc of its own.
        work = partial(slot.serve_files, slots_end, settings) if policy.tier == "full" else None
        gc.freeze()  # as below: the slot shares these pages
        checks, pid = self_test(confinement, policy, canaries, work)
    prepared = None if pid is None else PreparedSlot(pid, brains_end)
    if prepared is None:
        brains_end.close()
    if broken := [f"{check.name} ({check.detail})" for check in checks if not check.passed]:
        raise ConfinementError(f"its self-test failed: {', '.join(broken)}")
    wire.close_all(joined)
    listener = confinement.proxy_listener()
    namespaces = confinement.namespaces()
    report = {
        "tier": policy.tier,
        "features": confinement.features,
        "warnings": confinement.warnings,
        "checks": [check.name for check in checks],
        "listens": listener is not None,
        "namespaces": len(namespaces),
    }
    descriptors = [*([] if listener is None else [listener.fileno()]), *namespaces]
    connection.send({"ready": report}, descriptors=descriptors)
    if listener is not None:
        listener.close()
    wire.close_all(namespaces)
    return confinement, prepared


def _look_ahead(control: socket.socket) -> None:
    """Find the repositories where kaa was started, which takes up to 10 ms, while it prepares its orders."""
    with contextlib.suppress(OSError):
        if not select.select([control], [], [], 0)[0] and (directory := os.getcwd()) != "/":
            repositories.look_ahead(directory)
    os.chdir("/")


def _take_over_stdin() -> socket.socket:
    """Move the control socket out of reach of commands, which get /dev/null as standard input."""
    control = socket.socket(fileno=os.dup(0))  # dup() in Python closes on exec
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    return control


class ForkServer:
    """Forks slots on request and knows which are alive.

    Requests are `slot` (kind: `files`, `command`, `background`, `checkpoints`, `parser` or `guard`), `socket` (family;
    for a stream socket in the network of the slots), `hold`, `release` and `show` (see `Confinement`). Without an
    answer are `watch`, to hide at once from now on what appears, and `kill` (pid), for a slot that does not answer any
    more. The answer to `slot` is the slot's pid and, as descriptors, the brain's end of its socket and, of slots for
    commands, the end of a pipe that tells of connections that fail.
    """

    def __init__(
        self,
        connection: WireConnection,
        settings: HandsSettings,
        policy: Policy,
        confinement: Confinement,
        prepared: PreparedSlot | None = None,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._policy = policy
        self._confinement = confinement
        self._prepared = prepared
        self._slots: set[int] = set() if prepared is None else {prepared.pid}
        self._guards: set[int] = set()
        self._over, self._ending = os.pipe2(os.O_CLOEXEC)  # readable for guards when no command is left
        self._helpers = set(confinement.helpers)
        processes.become_subreaper()
        self._signals = processes.ChildSignals()
        self._poll = select.poll()
        self._view_watch: ViewWatch | None = None

    def serve(self) -> None:
        """Answer requests until the brain is gone, then see to it that nothing is left."""
        self._poll.register(self._connection, select.POLLIN)
        self._poll.register(self._signals, select.POLLIN)
        with contextlib.suppress(ConnectionError):
            self._answer_pending()
            while True:
                ready = {descriptor for descriptor, _ in self._poll.poll()}
                if self._view_watch is not None and self._view_watch.fileno() in ready:
                    self._act_on(self._view_watch)
                if self._signals.fileno() in ready:
                    self._reap()
                if self._connection.fileno() in ready:
                    frame = self._connection.receive()
                    if frame is None:
                        break
                    self._answer(frame)
                    self._answer_pending()
        self._wait_for_slots()  # with the socket open: to the brain, its end means that all is over

    def _answer_pending(self) -> None:
        while (frame := self._connection.pending()) is not None:
            self._answer(frame)

    def _answer(self, frame: wire.Frame) -> None:
        match frame.header.get("op"):
            case "slot":
                try:
                    self._fork(text(frame.header, "kind"))
                except OSError as error:
                    self._connection.send({"error": f"cannot start a process: {error.strerror}"})
            case "socket":
                self._send_socket(integer(frame.header, "family"))
            case "hold" | "release" | "show" as operation:
                self._keep_view(operation)
            case "watch":
                self._watch_view()
            case "kill":
                self._kill(integer(frame.header, "pid"))
            case unknown:
                raise wire.WireError(f"the fork-server knows no {unknown!r}")

    def _fork(self, kind: str) -> None:
        if kind == "files" and self._prepared is not None and self._prepared.pid in self._slots:
            self._confinement.catch_up()
            self._send_prepared(self._prepared)
            return
        brains_end, slots_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        pipe = _pipe() if kind in ("command", "background") else ()
        calls = self._confinement.write_calls if kind in ("background", "guard") else None  # the guard reads them
        place = calls.next_place() if calls is not None and kind == "background" else None
        with brains_end, slots_end:
            try:
                pid = self._confinement.fork()
                if pid == 0:
                    brains_end.close()
                    wire.close_all(pipe[:1])
                    self._become_slot(kind, slots_end, pipe[1] if pipe else None, place)
                self._slots.add(pid)
                if kind == "guard":
                    self._guards.add(pid)
                ends = [brains_end.fileno(), *pipe[:1]]
                self._connection.send({"slot": pid, "reports": bool(pipe)}, descriptors=ends)
            finally:
                wire.close_all(pipe)

    def _send_prepared(self, prepared: PreparedSlot) -> None:
        with prepared.socket:
            self._prepared = None
            header = {"slot": prepared.pid, "reports": False}
            self._connection.send(header, descriptors=[prepared.socket.fileno()])

    def _become_slot(self, kind: str, sock: socket.socket, reports: int | None, place: int | None) -> NoReturn:
        """Let go of everything that is the server's; never returns into the server's code."""
        status = 1
        try:
            self._connection.close()
            self._signals.close()
            if self._prepared is not None:
                self._prepared.socket.close()
            os.close(self._ending)
            slot.run(kind, sock, self._settings, self._policy, self._confinement, reports, self._over, place)
            status = 0
        finally:
            os._exit(status)

    def _send_socket(self, family: int) -> None:
        """Give the brain a way into the network of the slots."""
        try:
            with self._confinement.inside_socket(family) as inside:
                self._connection.send({"socket": True}, descriptors=[inside.fileno()])
        except OSError as error:
            self._connection.send({"error": f"cannot make a socket: {error.strerror}"})

    def _keep_view(self, operation: str) -> None:
        try:
            match operation:
                case "hold":
                    self._confinement.hold()
                case "show":
                    self._confinement.show()
                case _:
                    self._confinement.release()
        except OSError as error:
            self._connection.send({"error": f"cannot protect what was replaced: {error.strerror}"})
        else:
            self._connection.send({"done": True})

    def _watch_view(self) -> None:
        if self._view_watch is None and (watch := self._confinement.watch_view()) is not None:
            self._view_watch = watch
            self._poll.register(watch, select.POLLIN)

    def _act_on(self, watch: "ViewWatch") -> None:
        if watch.has_seen():
            with contextlib.suppress(OSError):  # there is nobody to tell: the next start looks again
                self._confinement.catch_up()
                if watch.widen():
                    self._confinement.catch_up()

    def _kill(self, pid: int) -> None:
        if pid in self._slots:  # never signal a process that is not ours, whatever the request says
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Collect ended slots. One that did not end by itself may leave processes, which are ours now."""
        self._signals.clear()
        crashed = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                break
            self._helpers.discard(pid)  # the number may be another process's from now on
            self._guards.discard(pid)
            if pid in self._slots:
                self._slots.remove(pid)
                crashed = crashed or status != 0
        if crashed:
            processes.kill_all(processes.children_of_this() - self._slots - self._helpers)

    def _wait_for_slots(self) -> None:
        """Slots see the end of the brain too and stop what they run; whoever does not manage is killed.

        Guards end last: until then, a command that lives on for a moment may leave something that executes.
        """
        self._reap()
        if self._prepared is not None:
            self._prepared.socket.close()
        self._wait_while(lambda: bool(self._slots - self._guards))
        if self._guards:
            if late := self._slots - self._guards:
                processes.kill_all(late | processes.children_of_this() - self._guards - self._helpers)
            os.write(self._ending, b".")
            self._wait_while(lambda: bool(self._guards))
        for pid in self._helpers:  # first: to look for others means to read all of /proc
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        with contextlib.suppress(ChildProcessError):  # the usual case: nobody is left
            os.waitpid(-1, os.WNOHANG)
            processes.kill_all(self._slots | processes.children_of_this())

    def _wait_while(self, goes_on: Callable[[], bool]) -> None:
        poll = select.poll()
        poll.register(self._signals, select.POLLIN)
        deadline = time.monotonic() + _LAST_WORDS_SECONDS
        while goes_on() and (left := deadline - time.monotonic()) > 0:
            poll.poll(left * 1000)
            self._reap()


def _pipe() -> tuple[int, int]:
    """Ends for reading and writing that do not block."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends
