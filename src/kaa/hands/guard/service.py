"""The guard's loop: acts on what happens, and answers the brain in between."""

import select

from kaa.hands.fields import text
from kaa.hands.guard.inotify import Inotify
from kaa.hands.guard.watcher import Guard
from kaa.hands.policy import Policy
from kaa.hands.settings import Settings
from kaa.hands.wire import Connection, Frame, Header, WireError

# After some events, others are left to gather: a command in a loop does not make us one too.
_REST_MILLISECONDS = 10


def serve(connection: Connection, settings: Settings, policy: Policy) -> None:
    """Guard the writable directories until the brain is gone. The package says what that means."""
    roots = policy.writable if policy.mode == "workspace-write" else ()
    inotify = _inotify() if roots else None
    guard = Guard(roots, policy.git_writable, inotify)
    try:
        _serve(connection, settings, guard, inotify)
    finally:
        guard.close()


def _serve(connection: Connection, settings: Settings, guard: Guard, inotify: Inotify | None) -> None:
    poll, poll_at_rest = select.poll(), select.poll()
    poll.register(connection, select.POLLIN)
    poll_at_rest.register(connection, select.POLLIN)
    if inotify is not None:
        poll.register(inotify, select.POLLIN)
    resting = False
    while True:
        rest = None if guard.flooded else _REST_MILLISECONDS
        ready = poll_at_rest.poll(rest) if resting else poll.poll()
        resting = False
        if connection.fileno() in (descriptor for descriptor, _ in ready):
            if not _serve_pending(connection, guard, settings):
                return
        elif ready:
            resting = guard.act()


def _inotify() -> Inotify | None:
    try:
        return Inotify()
    except OSError:
        return None


def _serve_pending(connection: Connection, guard: Guard, settings: Settings) -> bool:
    """Answer the requests that have come; False if the brain is gone."""
    frame = connection.receive()
    try:
        while frame is not None:
            connection.send(_answer(frame, guard, settings))
            if (frame := connection.pending()) is None:
                return True
    except ConnectionError:
        pass
    return False


def _answer(frame: Frame, guard: Guard, settings: Settings) -> Header:
    guard.catch_up()
    match text(frame.header, "op"):
        case "check":
            pass
        case "expect":
            guard.expect(settings.absolute(text(frame.header, "path")))
        case "accept":
            guard.accept(settings.absolute(text(frame.header, "path")))
        case unknown:
            raise WireError(f"the guard knows no {unknown!r}")
    findings, more = guard.take_findings()
    return {"findings": [finding._asdict() for finding in findings], "more": more}
