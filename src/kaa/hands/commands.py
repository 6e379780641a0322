"""The command slot: runs commands one after another, watches over each one's processes and reports how it ended."""

import contextlib
import errno
import fcntl
import os
import select
import signal
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kaa.hands import places
from kaa.hands.connection import WireConnection
from kaa.hands.processes import ChildSignals, ProcessTree, become_subreaper, standing
from kaa.hands.settings import HandsSettings
from kaa.hands.wire import (
    Frame,
    FrameDecoder,
    Header,
    WireError,
    close_all,
    encode,
    flag,
    is_real,
    text,
    text_map,
    texts,
)

# Background processes that are about to end by themselves (`... | tee`, `>(...)`) get this long.
_LINGER_SECONDS = 0.05
_LEFTOVER_GRACE_SECONDS = 0.1
_FIRST_FURTHER = 3  # after the standard streams
_NOT_FOUND = 127 << 8  # wait statuses that mean what they mean in a shell
_NOT_EXECUTABLE = 126 << 8
# The slot ignores them, since a command may send them to whoever started it; the command gets the defaults.
_IGNORED_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}


class Streams(NamedTuple):
    """Descriptors that the command gets.

    Attributes:
        stdin: its standard input; None for /dev/null.
        further: its descriptors from 3 on.
        own_terminal: the standard input is a terminal that kaa made for the command, whose session is to own it.
    """

    stdin: int | None
    stdout: int
    stderr: int
    further: tuple[int, ...] = ()
    own_terminal: bool = False

    def close(self) -> None:
        """Let go of all of them."""
        close_all({stream for stream in (self.stdin, self.stdout, self.stderr, *self.further) if stream is not None})


class RunRequest(NamedTuple):
    """What to run.

    Attributes:
        is_real: no part of `cwd` may be a symlink.
        linkless: directories in which it follows no link.
        needs_linkless: it does not run where the kernel cannot do that.
    """

    argv: list[str]
    cwd: str
    env: dict[str, str]
    streams: Streams
    is_real: bool
    linkless: Sequence[str] = ()
    needs_linkless: bool = False

    @classmethod
    def parse(cls, header: Header, descriptors: Sequence[int]) -> "RunRequest":
        """Take a request from its frame.

        One descriptor is stdout and stderr; of three or more, the first three are the standard streams.
        """
        argv = texts(header, "argv")
        match descriptors:
            case [output]:
                streams = Streams(None, output, output)
            case [_, _, _, *further]:
                stdin, stdout, stderr, *rest = (_lifted(one, _FIRST_FURTHER + len(further)) for one in descriptors)
                streams = Streams(stdin, stdout, stderr, tuple(rest), "own_terminal" in header)
            case _:
                raise WireError("a command needs one descriptor for its output, or three or more for its streams")
        if not argv:
            raise WireError("a command needs a program")
        cwd, env = text(header, "cwd"), text_map(header, "env")
        if "linkless" not in header:
            return cls(argv, cwd, env, streams, is_real(header))
        linkless, needed = texts(header, "linkless"), flag(header, "needs_linkless")
        return cls(argv, cwd, env, streams, is_real(header), linkless, needed)


class ExitReport(NamedTuple):
    """How a command ended.

    Attributes:
        leftovers: how many background processes had to be stopped.
        clean: nothing of it is left.
    """

    status: int
    leftovers: int
    clean: bool = True


class BrainGoneError(Exception):
    """Nobody waits for the command any more."""


def serve(connection: WireConnection, settings: HandsSettings, *, own_namespace: bool) -> None:
    """Wait for a command, run it, report; and again, as long as nothing of a command stays behind.

    In a process namespace of one's own that is certain, and such a slot takes longer to make than most commands run.
    What a command changed about the slot itself would stay: then it was the last one.

    Args:
        settings: where relative paths start.
        own_namespace: this process is the first of a process namespace of its own.
    """
    become_subreaper()  # before the wait, while it costs nobody any time
    signals = ChildSignals()
    for number in _IGNORED_SIGNALS:
        with contextlib.suppress(OSError):  # those that libraries keep to themselves
            signal.signal(number, signal.SIG_IGN)
    _rehearse(settings)
    own = standing() if own_namespace else ()
    watch = _Watch(signals, own_namespace)
    while (frame := connection.receive()) is not None:
        if frame.header.get("op") in ("stop", "halt", "resume"):  # it crossed our report
            continue
        request = RunRequest.parse(frame.header, connection.take_descriptors())
        try:
            reply, clean = _answer(request, connection, settings, watch)
        except BrainGoneError:
            return
        again = clean and own_namespace and standing() == own
        connection.send({**reply, "again": again})
        if not again:
            return


def _answer(
    request: "RunRequest", connection: WireConnection, settings: HandsSettings, watch: "_Watch"
) -> tuple[Header, bool]:
    """Run a command. What is to be reported, and whether nothing of it is left."""
    try:
        ending = _run(request, connection, settings, watch)
    except (OSError, ValueError) as error:
        request.streams.close()
        number = (error.errno if isinstance(error, OSError) else None) or errno.EINVAL
        message = error.strerror if isinstance(error, OSError) else str(error)
        return {"error": message or str(error), "errno": number}, True
    finally:
        os.chdir("/")  # not to hold on to a directory of the project
    return {"status": ending.status, "leftovers": ending.leftovers}, ending.clean


def _rehearse(settings: HandsSettings) -> None:
    """Go through the motions of a request once, before there is one.

    A forked process copies every page of memory at its first touch. Whoever waits for a command need not wait
    for that too.
    """
    decoder = FrameDecoder()
    decoder.feed(encode({"argv": ["true"], "cwd": ".", "env": dict.fromkeys(map(str, range(64)), os.defpath)}))
    frame = decoder.next()
    assert frame is not None
    request = RunRequest.parse(frame.header, [0])
    settings.absolute(request.cwd)
    _candidates(request.argv[0], request.env)
    encode({"status": 0, "leftovers": 0})


class _Watch(NamedTuple):
    """How the processes of a command are found."""

    signals: ChildSignals
    own_namespace: bool


def _run(request: RunRequest, connection: WireConnection, settings: HandsSettings, watch: _Watch) -> ExitReport:
    cwd = settings.absolute(request.cwd)
    if request.linkless:
        if watch.own_namespace:  # such a slot has its own mounts, and runs further commands
            raise WireError("only a command outside the sandbox can do without links")
        from kaa.hands.confinement import linkless  # lazy: few commands leave the sandbox

        linkless.refuse_links(request.linkless, needed=request.needs_linkless)
    if request.is_real:
        places.enter(cwd)
    else:
        os.chdir(cwd)
    try:
        leader = _start(request.argv, request.env, request.streams)
    except OSError as error:
        ending = _refusal(request, error)
        request.streams.close()
        return ending
    request.streams.close()
    tree = ProcessTree(leader, own_namespace=watch.own_namespace)
    return _Supervisor(connection, watch.signals, tree).supervise()


def _start(argv: list[str], env: Mapping[str, str], streams: Streams) -> int:
    """Start a program in a session of its own; its pid.

    Raises:
        OSError: no program of this name can be executed.
    """
    failure = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for program in _candidates(argv[0], env):
        if program != argv[0] and not os.path.exists(program):  # else a process would find that out
            continue
        try:
            return _spawn(program, argv, env, streams)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            if os.path.exists(program):  # else only its directory is closed to us; either way, look further
                failure = error
    raise failure


def _candidates(program: str, env: Mapping[str, str]) -> list[str]:
    """Where a program may be, as execvp(3) looks for it, with the PATH of the command and not of this process."""
    if "/" in program:
        return [program]
    return [os.path.join(directory, program) for directory in env.get("PATH", os.defpath).split(os.pathsep)]


def _spawn(program: str, argv: list[str], env: Mapping[str, str], streams: Streams) -> int:
    if streams.own_terminal:
        return _fork(program, argv, env, streams)
    redirections = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        if streams.stdin is None
        else (os.POSIX_SPAWN_DUP2, streams.stdin, 0),
        (os.POSIX_SPAWN_DUP2, streams.stdout, 1),
        (os.POSIX_SPAWN_DUP2, streams.stderr, 2),
        *((os.POSIX_SPAWN_DUP2, one, number) for number, one in enumerate(streams.further, _FIRST_FURTHER)),
    ]
    try:
        return os.posix_spawn(
            program, argv, env, file_actions=redirections, setsid=True, setsigmask=[], setsigdef=_IGNORED_SIGNALS
        )
    except OSError as error:
        if error.errno != errno.ENOEXEC or program == "/bin/sh":
            raise
        return _spawn("/bin/sh", ["/bin/sh", program, *argv[1:]], env, streams)  # a script without #!, as execvp(3)


def _fork(program: str, argv: list[str], env: Mapping[str, str], streams: Streams) -> int:
    """Start a program whose session owns its terminal, for Ctrl-C and /dev/tty; `posix_spawn` has no way to do that."""
    if not os.access(program, os.X_OK):
        error = errno.EACCES if os.path.exists(program) else errno.ENOENT
        raise OSError(error, os.strerror(error))
    if pid := os.fork():
        return pid
    try:
        os.setsid()
        for number, one in enumerate((streams.stdin or 0, streams.stdout, streams.stderr)):
            os.dup2(one, number)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for ignored in _IGNORED_SIGNALS:
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        with contextlib.suppress(OSError):
            os.execve(program, argv, env)  # noqa: S606 - as above, without a shell
        os.execve("/bin/sh", ["/bin/sh", program, *argv[1:]], env)  # noqa: S606 - a script without #!, as above
    finally:
        os._exit(_NOT_EXECUTABLE >> 8)


def _lifted(descriptor: int, lowest: int) -> int:
    """The same descriptor under a number that no redirection of the command overwrites before it is used."""
    if descriptor >= lowest:
        return descriptor
    lifted = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    os.close(descriptor)
    return lifted


def _refusal(request: RunRequest, error: OSError) -> ExitReport:
    """A program that cannot be started ends as in a shell: a message and 127 or 126."""
    missing = error.errno == errno.ENOENT
    reason = "command not found" if missing and "/" not in request.argv[0] else error.strerror
    os.write(request.streams.stderr, f"{request.argv[0]}: {reason}\n".encode("utf-8", "surrogateescape"))
    return ExitReport(_NOT_FOUND if missing else _NOT_EXECUTABLE, 0)


class _Supervisor:
    """Waits for a command's end or for the brain's word to stop it, whichever comes first."""

    def __init__(self, connection: WireConnection, signals: ChildSignals, tree: ProcessTree) -> None:
        self._connection = connection
        self._signals = signals
        self._tree = tree
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._poll.register(signals, select.POLLIN)

    def supervise(self) -> ExitReport:
        """See the command to its end; afterwards nothing of it is left.

        Raises:
            BrainGoneError: the brain closed the socket; everything was killed at once.
        """
        leftovers = 0
        try:
            grace = self._wait(lambda: self._tree.leader_status is not None)
            if grace is not None:
                self._tree.terminate()
                self._wait(lambda: self._tree.ended, grace)
            else:
                leftovers = self._stop_leftovers()
        finally:
            self._tree.kill()
        status = self._tree.leader_status
        return ExitReport(signal.SIGKILL if status is None else status, leftovers, self._tree.ended)

    def _stop_leftovers(self) -> int:
        """The command itself has ended; stop what it left in the background and count it."""
        self._wait(lambda: self._tree.ended, _LINGER_SECONDS)
        if self._tree.ended:
            return 0
        leftovers = self._tree.count()
        self._tree.terminate()
        self._wait(lambda: self._tree.ended, _LEFTOVER_GRACE_SECONDS)
        return leftovers

    def _wait(self, done: Callable[[], bool], seconds: float | None = None) -> float | None:
        """Wait until `done`, for so many seconds at most, or until told to stop.

        Returns:
            Seconds of grace if told to stop, else None.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self._signals.clear()
            self._tree.reap()
            left = None if deadline is None else deadline - time.monotonic()
            if done() or (left is not None and left <= 0):
                return None
            frame = self._connection.pending()
            if frame is None:
                ready = {descriptor for descriptor, _ in self._poll.poll(None if left is None else left * 1000)}
                if self._connection.fileno() not in ready:
                    continue
                frame = self._connection.receive()
            if frame is None or frame.header.get("op") != "halt":
                return self._told_to_stop(frame)
            self._stand_still()

    def _stand_still(self) -> None:
        """Let nothing of the command run until the brain says so; if it says to stop, nothing of it runs again.

        Raises:
            BrainGoneError: it says nothing any more.
        """
        self._connection.send({"halted": self._tree.halt()})
        frame = self._connection.receive()
        if frame is not None and frame.header.get("op") == "resume":
            self._tree.resume()
        else:
            self._told_to_stop(frame)
            self._tree.kill()

    @staticmethod
    def _told_to_stop(frame: Frame | None) -> float:
        if frame is None:
            raise BrainGoneError
        grace = frame.header.get("grace")
        if frame.header.get("op") != "stop" or not isinstance(grace, (int, float)):
            raise WireError("a running command can only be told to stop")
        return float(grace)
