"""The guard's loop: acts on what happens, and answers the brain in between."""

import contextlib
import json
import math
import os
import select
import time
from collections.abc import Callable, Sequence

from kaa.hands.below import RootDirectory
from kaa.hands.confinement import repositories
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.confinement.named import NamedByConfiguration, named_paths
from kaa.hands.confinement.write_calls import WriteCalls
from kaa.hands.connection import WireConnection
from kaa.hands.guard.items import WrittenFile
from kaa.hands.guard.lookout import Lookout
from kaa.hands.guard.subjects import Known
from kaa.hands.guard.users_files import UsersFiles
from kaa.hands.guard.watcher import Guard
from kaa.hands.inotify import Inotify
from kaa.hands.policy import Policy
from kaa.hands.settings import HandsSettings
from kaa.hands.wire import FLOOD_ALARM, Frame, Header, WireError, integer, text

# After some events, others are left to gather: a command in a loop does not make us one too.
_REST_MILLISECONDS = 10
# Between two looks at what is guarded, while a command may have mapped it into memory; and not more than a share.
_COMPARING_SECONDS = 1.0
_COMPARING_SHARE = 0.02
_ALARMS = 65536  # as many as a pipe holds
_NEWS = b"."
_LATE_SECONDS = 10.0  # half of what the brain waits


def serve(
    connection: WireConnection,
    settings: HandsSettings,
    policy: Policy,
    over: int | None = None,
    beneath: Sequence[RootDirectory] = (),
    write_calls: WriteCalls | None = None,
) -> None:
    """Guard the writable directories until the brain is gone, and all commands. The package says what that means.

    Args:
        policy: says what may be written.
        over: readable when no command is left; None if there are none.
        beneath: the writable directories without what is mounted in them, where the tier has these.
        write_calls: of commands in the background, where they are noted.
    """
    roots = policy.writable if policy.mode == "workspace-write" else ()
    inotify = _inotify() if roots else None
    gits = [repository for root in roots for repository in repositories.find(root)]
    missing = (path for path in policy.executed if not os.path.lexists(path))
    named = (*named_paths(gits, roots, settings.home), *missing)
    elsewhere = (path for git in gits if git.proof for path in git.directories if not is_below_any(path, roots))
    progress = ProgressReporter(connection)
    guard = Guard(
        roots,
        policy.git_writable,
        inotify,
        named,
        elsewhere if policy.git_writable else (),
        {root.path: root for root in beneath},
        UsersFiles(write_calls),
        progress.note,
        _named_by(NamedByConfiguration(roots, settings.home)),
    )
    signs = Signs(inotify) if roots else None
    _wait_for_request(connection)  # a guard that is kept ready moves nothing: another one may be at work
    lookout = _lookout(guard, signs) if inotify is not None and signs is not None else None
    try:
        _serve(connection, settings, guard, inotify, signs, progress)
        if over is not None and roots:
            _outlast(over, guard, inotify)
    finally:
        if lookout is not None:
            lookout.close()
        guard.close()
        if signs is not None:
            signs.close()


def _named_by(configuration: NamedByConfiguration) -> Callable[[str], tuple[Sequence[str], Sequence[str]]]:
    """What finds the paths that the configuration of the repository of a `.git` names, and those the user's names."""

    def find(entry: str) -> tuple[Sequence[str], Sequence[str]]:
        gits = [repositories.at(entry)]
        return configuration.own(gits), configuration.everywhere(gits)

    return find


class ProgressReporter:
    """Tells the brain where the guard is if something takes long: the brain waits for a while only, and says where."""

    def __init__(self, connection: WireConnection) -> None:
        self._connection = connection
        self.begin()

    def begin(self) -> None:
        self._until = time.monotonic() + _LATE_SECONDS

    def note(self, path: str) -> None:
        """Note what the guard looks at."""
        if time.monotonic() > self._until:
            self._until = math.inf  # told once
            with contextlib.suppress(OSError):  # the brain is gone
                self._connection.send({"busy": path})


class Signs:
    """What tells the brain that something has happened since the last answer, without asking and waiting.

    Either the kernel has something to tell the guard, or the guard has begun to deal with it and says so first. Both
    are descriptors that the brain polls: a command that touched nothing costs no round trip. A third one becomes
    readable when there is a finding that the brain was not told yet, or when the guard has died: nobody else has its
    other end.

    Args:
        inotify: what the kernel tells; without it the guard always says that something may have happened.
    """

    def __init__(self, inotify: Inotify | None) -> None:
        self._inotify = inotify
        self._begun = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._alarm, self._alarming = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @property
    def descriptors(self) -> Sequence[int]:
        """What the brain polls, and the alarm."""
        return (self._begun if self._inotify is None else self._inotify.fileno(), self._begun, self._alarm)

    def close(self) -> None:
        """Let go of what is its own."""
        for descriptor in (self._begun, self._alarm, self._alarming):
            os.close(descriptor)

    def set(self) -> None:
        """Before something is taken from the kernel."""
        os.eventfd_write(self._begun, 1)

    def tell_of(self, guard: Guard, *, at_rest: bool = False) -> None:
        """Have the brain ask at once if there is something to tell.

        Args:
            guard: may have it.
            at_rest: nothing has happened for a moment: what is in moved files counts, too.
        """
        has_versions = at_rest and guard.kept_files.has_versions
        if guard.findings or guard.findings.flooded or guard.stuck or guard.unheld or has_versions:
            self.set()
            with contextlib.suppress(BlockingIOError, BrokenPipeError):  # it has been told, or is gone
                os.write(self._alarming, FLOOD_ALARM if guard.findings.flooded else _NEWS)

    def clear(self) -> None:
        """Before everything is dealt with to be told."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._begun)
        with contextlib.suppress(BlockingIOError):
            os.read(self._alarm, _ALARMS)


def _serve(
    connection: WireConnection,
    settings: HandsSettings,
    guard: Guard,
    inotify: Inotify | None,
    signs: Signs | None,
    progress: ProgressReporter,
) -> None:
    poll, poll_at_rest = select.poll(), select.poll()
    poll.register(connection, select.POLLIN)
    poll_at_rest.register(connection, select.POLLIN)
    if inotify is not None:
        poll.register(inotify, select.POLLIN)
    resting = False
    pause = _COMPARING_SECONDS
    compared = time.monotonic()
    if not _serve_pending(connection, guard, settings, signs, begins=True):
        return
    while True:
        is_due = guard.minds or guard.kept_files
        left = max(0.0, compared + pause - time.monotonic()) * 1000 if is_due else None
        ready = poll_at_rest.poll(_REST_MILLISECONDS) if resting else poll.poll(left)
        progress.begin()
        if connection.fileno() in (descriptor for descriptor, _ in ready):
            if not _serve_pending(connection, guard, settings, signs):
                return
        elif ready:
            if signs is not None:
                signs.set()
            resting = guard.act()
            if signs is not None:
                signs.tell_of(guard)
            continue
        elif not resting:
            started = time.monotonic()
            if guard.minds:
                guard.look()
            guard.kept_files.look()
            if signs is not None:
                signs.tell_of(guard, at_rest=True)
            compared = time.monotonic()
            pause = max(_COMPARING_SECONDS, (compared - started) / _COMPARING_SHARE)
        resting = False


def _outlast(over: int, guard: Guard, inotify: Inotify | None) -> None:
    """Go on without the brain until no command is left, and look once more: it may have been killed."""
    poll = select.poll()
    poll.register(over, select.POLLIN)
    if inotify is not None:
        poll.register(inotify, select.POLLIN)
    while over not in (descriptor for descriptor, _ in poll.poll()):
        guard.act()
    guard.catch_up()
    guard.look()
    guard.clear_away()


def _wait_for_request(connection: WireConnection) -> None:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.poll()


def _lookout(guard: Guard, signs: Signs) -> Lookout | None:
    def move_away(root: RootDirectory, name: str, watch: Callable[[int], bool]) -> None:
        guard.move_new_name(root, name, watch)
        signs.tell_of(guard)

    try:
        return Lookout(guard.roots, move_away)
    except OSError:  # the guard does it then, later
        return None


def _inotify() -> Inotify | None:
    try:
        return Inotify()
    except OSError:
        return None


def _serve_pending(
    connection: WireConnection, guard: Guard, settings: HandsSettings, signs: Signs | None, *, begins: bool = False
) -> bool:
    """Answer the requests that have come, of which the first may have the guard begin; False if the brain is gone."""
    frame = connection.receive()
    if begins and frame is not None:
        guard.begin(adopts=frame.header.get("adopts") is True)
    try:
        while frame is not None:
            if signs is not None:
                signs.clear()
                if guard.scans:  # nothing else tells that something may have happened
                    signs.set()
            wanted = signs is not None and frame.header.get("op") == "signs"
            answer = _answer(frame, guard, settings)
            known = guard.take_known()
            body = b"" if known is None else _encoded(known)
            connection.send(answer, body, descriptors=signs.descriptors if signs and wanted else ())
            if (frame := connection.pending()) is None:
                return True
    except ConnectionError:
        pass
    return False


def _encoded(known: Known) -> bytes:
    dangers = {key: {path: sorted(digests) for path, digests in items.items()} for key, items in known.dangers.items()}
    return json.dumps({"named": sorted(known.named), "dangers": dangers}, separators=(",", ":")).encode("ascii")


def _decoded(body: bytes) -> Known:
    """What a guard has encoded; the brain only keeps it."""
    known = json.loads(body)
    dangers = {
        key: {path: frozenset(digests) for path, digests in items.items()} for key, items in known["dangers"].items()
    }
    return Known(frozenset(known["named"]), dangers)


def _answer(frame: Frame, guard: Guard, settings: HandsSettings) -> Header:
    guard.catch_up()
    match text(frame.header, "op"):
        case "check":
            guard.compare()
            guard.clear_away()
        case "signs" | "news":
            pass
        case "expect":
            guard.expect(settings.absolute(text(frame.header, "path")))
        case "accept":
            guard.accept(settings.absolute(text(frame.header, "path")))
        case "written":
            path = settings.absolute(text(frame.header, "path"))
            guard.accept(path, WrittenFile(path, text(frame.header, "digest"), integer(frame.header, "size")))
        case "discern" | "watch" as operation:
            guard.discern(operation == "discern")
        case "outside" | "inside" as operation:
            guard.pass_by(operation == "outside")
        case "retry":
            guard.retry()
        case "succeed":
            guard.succeed(_decoded(frame.body))
        case unknown:
            raise WireError(f"the guard knows no {unknown!r}")
    flooded = guard.findings.flooded
    findings, counted, more = guard.findings.take()
    if flooded or text(frame.header, "op") != "news":
        guard.findings.forget_flood()
    return {
        "findings": [finding._asdict() for finding in findings],
        "more": more,
        "saved": [finding._asdict() for finding in counted],
        "later": [finding._asdict() for finding in guard.kept_files.take()],
        "flooded": flooded,
        "stuck": bool(guard.stuck),
        "unheld": guard.take_unheld(),
        "unchecked": guard.take_unchecked(),
        "discerns": guard.can_discern,
        "calm": guard.is_calm,
        "scans": guard.scans,
    }
