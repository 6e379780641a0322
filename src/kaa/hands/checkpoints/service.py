"""The slot's loop: looks at the project a little at a time, and answers what is asked in between."""

import errno
import json
import os
import select
from collections.abc import Iterator, Mapping

from kaa.hands.checkpoints.backlog import EVERYTHING, Portion
from kaa.hands.checkpoints.keeping import expanded, unkept
from kaa.hands.checkpoints.manifest import row_of, state_of
from kaa.hands.checkpoints.putting import NotAsExpectedError, Putter, remove_leftovers
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.rules import ScanLimits
from kaa.hands.checkpoints.states import State
from kaa.hands.checkpoints.tracker import Tracker
from kaa.hands.connection import WireConnection
from kaa.hands.inotify import Inotify
from kaa.hands.policy import Policy
from kaa.hands.settings import HandsSettings
from kaa.hands.wire import Frame, WireError, close_all, flag, integer, text, texts

_SEND_BYTES = 1024 * 1024
# Of what would have to be announced.
_COPIED_AT_ONCE = 0.25
# Events gather meanwhile: a command in a loop does not make us one too.
_REST_MILLISECONDS = 20
# So long nothing is asked before files are read that can wait: a model that answers at once is not kept waiting.
_IDLE_MILLISECONDS = 100


def serve(connection: WireConnection, settings: HandsSettings, policy: Policy) -> None:
    """Answer requests until the brain is gone. The package says which."""
    roots = policy.writable if policy.mode == "workspace-write" else ()
    service = _Service(connection, settings, (settings.root, *roots))
    try:
        while service.serve_some():
            pass
    except ConnectionError:
        return


class _Service:
    def __init__(self, connection: WireConnection, settings: HandsSettings, roots: tuple[str, ...]) -> None:
        self._connection = connection
        self._settings = settings
        self._paths = tuple(dict.fromkeys(map(os.path.realpath, roots)))
        self._tracker: Tracker | None = None
        self._beginning: tuple[int, Iterator[None]] | None = None
        self._reading: tuple[int, Iterator[None]] | None = None  # after that, of what was left
        self._is_idle = False  # nothing was asked for a while
        self._waiting: list[Frame] = []  # until everything has been looked at
        self._contents: list[bytes] = []
        self._contents_bytes = 0
        self._answering = 0
        self._resting = False
        self._held: list[int] = []
        self._kept_files = 0
        self._kept_bytes = 0
        self._portion = EVERYTHING  # of new files, to be read before somebody who waits gets an answer
        self._announce_bytes = 0  # from how many on we ask before everything is read; 0: never, or that was done
        self._paused = False  # until the brain says that we may go on

    def serve_some(self) -> bool:
        """Answer what was asked, or go on looking; False if the brain is gone."""
        if self._requests_pending():
            frame = self._connection.receive()
            self._is_idle = False
            while frame is not None:
                self._serve(frame)
                if (frame := self._connection.pending()) is None:
                    return True
            return False
        if self._beginning is not None and not self._paused:
            self._go_on(*self._beginning)
        elif self._reading is not None:
            self._read_on(*self._reading)
        return True

    def _requests_pending(self) -> bool:
        """Whether there is a request; waits for one if there is nothing else to do."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        if self._beginning is not None and not self._paused:
            return bool(poll.poll(0))
        if self._reading is not None:
            self._is_idle = not poll.poll(0 if self._is_idle else _IDLE_MILLISECONDS)
            return not self._is_idle
        inotify = self._tracker.inotify if self._tracker is not None else None
        if inotify is not None and not self._resting:
            poll.register(inotify, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(_REST_MILLISECONDS if self._resting else None)}
        self._resting = False
        if self._tracker is not None and inotify is not None and inotify.fileno() in ready:
            self._tracker.listen()
            self._resting = True
        return self._connection.fileno() in ready

    def _serve(self, frame: Frame) -> None:
        operation = text(frame.header, "op")
        if self._beginning is not None and operation not in ("note", "look", "proceed"):
            self._waiting.append(frame)
            return
        self._answering = integer(frame.header, "id")
        try:
            self._answer(operation, frame)
        except OSError as error:
            self._send({"error": error.strerror or str(error), "errno": error.errno or errno.EIO})
        except WireError as error:
            self._send({"error": str(error), "errno": errno.EINVAL})

    def _answer(self, operation: str, frame: Frame) -> None:
        if operation == "begin":
            self._begin(frame)
            return
        if operation == "hold":
            close_all(self._held)
            self._held = self._connection.take_descriptors()
            self._send({})
            return
        if operation == "restore":
            self._restore(frame)
            return
        if self._tracker is None:
            raise WireError("the first request must be begin, unless files are only to be put back")
        match operation:
            case "note":
                name = self._tracker.note(self._settings.absolute(text(frame.header, "path")))
                self._flush()
                self._send({"noted": name})
            case "proceed":
                if self._beginning is None:
                    raise WireError("there is nothing to proceed with")
                self._beginning = (self._answering, self._beginning[1])
                self._paused = False
            case "read":
                portion = _portion(frame.header, "files", "bytes")
                self._reading = (self._answering, self._tracker.read_more(portion, integer(frame.header, "max_bytes")))
            case "collect":
                self._send_changes(self._tracker.collect(_portion(frame.header, "files", "bytes")))
            case "look":
                states, unknown = self._tracker.states(texts(frame.header, "paths"))
                self._send({"states": [*map(row_of, states)], "outside": unknown})
            case "keeps":
                given = texts(frame.header, "patterns")
                patterns = [path if path.startswith("/") else f"./{path}" for path in given]
                self._tracker.look_again(self._portion)
                self._flush()
                name, kind = text(frame.header, "name"), text(frame.header, "kind")
                meant = expanded(map(self._settings.absolute, patterns), name, kind)
                generated = unkept(self._tracker, meant, unsaid=flag(frame.header, "unsaid"))
                unread = self._tracker.uncovered.get("unread", 0) if generated is None else 0
                self._send({"kept": generated is not None, "generated": sorted(generated or ()), "unread": unread})
            case unknown:
                raise WireError(f"the slot for checkpoints knows no {unknown!r}")

    def _begin(self, frame: Frame) -> None:
        """Begin to look at everything; the package says what is answered at its end."""
        limits = ScanLimits(integer(frame.header, "max_files"), integer(frame.header, "max_bytes"))
        roots = Roots(self._paths)
        for token, directories in _leftovers(frame.header):
            remove_leftovers(roots, token, directories)
        self._portion = _portion(frame.header, "first_files", "first_bytes")
        self._tracker = Tracker(roots, _inotify(), limits, self._keep, self._portion)
        self._beginning = (self._answering, self._tracker.begin(frame.body))
        self._announce_bytes = integer(frame.header, "announce_bytes")

    def _restore(self, frame: Frame) -> None:
        """Carry out moves; say what became of each, as the package has it."""
        tracker = self._tracker
        results: list[str | None] = []
        remarks: list[str] = []
        offset = 0
        putter = Putter(Roots(self._paths) if tracker is None else tracker.roots, text(frame.header, "token"))
        try:
            for path, expected, target, length in _moves(frame.header):
                content = frame.body[offset : offset + length]
                offset += length
                remark = ""
                try:
                    stamped = expected if tracker is None else tracker.with_stamp(path, expected)
                    remark = putter.put(path, stamped, target, content)
                except NotAsExpectedError:
                    results.append("")
                except OSError as error:
                    results.append(error.strerror or str(error))
                else:
                    if not remark and tracker is not None:  # else it is not what it was to be
                        tracker.expect(path, target)
                    results.append(None)
                remarks.append(remark)
        finally:
            putter.close()
        if tracker is not None:
            tracker.listen()  # before the kernel's queue runs over and everything has to be looked at
        self._send({"results": results, "remarks": remarks})

    def _go_on(self, request: int, steps: Iterator[None]) -> None:
        """Look at a little more of the project; at its end, answer."""
        self._answering = request
        try:
            next(steps)
            self._announce()
            return
        except StopIteration:
            self._beginning = None
        except (OSError, WireError) as error:
            self._beginning = None
            self._send({"error": str(error), "errno": errno.EIO})
            return
        assert self._tracker is not None
        self._send_changes(self._tracker.take_changes())
        waiting, self._waiting = self._waiting, []
        for frame in waiting:
            self._serve(frame)

    def _read_on(self, request: int, steps: Iterator[None]) -> None:
        """Read a little more of what was left; at the end of the portion, answer."""
        assert self._tracker is not None
        self._answering = request
        if next(steps, self) is not self:
            self._tracker.listen()
            return
        self._reading = None
        self._flush()
        self._send_report([])

    def _announce(self) -> None:
        """Ask before much is copied. Little is copied at once: counting takes time, and most projects are small."""
        if not self._announce_bytes or self._kept_bytes < self._announce_bytes * _COPIED_AT_ONCE:
            return
        assert self._tracker is not None
        files, size = self._tracker.extent()
        if self._kept_bytes + size >= self._announce_bytes:
            self._paused = True
            self._send({"announce": {"files": self._kept_files + files, "bytes": self._kept_bytes + size}})
        self._announce_bytes = 0

    def _send_changes(self, changes: list[list[object]]) -> None:
        assert self._tracker is not None
        self._flush()
        self._send_report(changes)

    def _send_report(self, changes: list[list[object]]) -> None:
        assert self._tracker is not None
        # In the body: with all files of a project it may be larger than a header.
        report = {
            "changes": changes,
            "uncovered": self._tracker.uncovered,
            "learned": self._tracker.take_learned(),
            "completed": self._tracker.take_completed(),
        }
        body = json.dumps(report, separators=(",", ":"))
        self._send({"changes": len(changes)}, body.encode("ascii"))

    def _keep(self, content: bytes) -> None:
        self._kept_files += 1
        self._kept_bytes += len(content)
        self._contents.append(content)
        self._contents_bytes += len(content)
        if self._contents_bytes >= _SEND_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._contents:
            self._send({"contents": [len(content) for content in self._contents]}, b"".join(self._contents))
            self._contents.clear()
            self._contents_bytes = 0

    def _send(self, header: dict[str, object], body: bytes = b"") -> None:
        self._connection.send({"id": self._answering, **header}, body)


def _portion(header: dict[str, object], files: str, size: str) -> Portion:
    return Portion(integer(header, files), integer(header, size))


def _moves(header: Mapping[str, object]) -> Iterator[tuple[str, State | None, State | None, int]]:
    """The moves of a request.

    Raises:
        WireError: they are none.
    """
    moves = header.get("moves")
    for move in moves if isinstance(moves, list) else [moves]:
        match move:
            case [str(path), expected, target, int(length)]:
                yield path, state_of(expected), state_of(target), length
            case _:
                raise WireError(f"invalid move {move!r}")


def _leftovers(header: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """The tokens of restores that were killed, with the directories they worked in."""
    leftovers = header.get("leftovers", {})
    if not isinstance(leftovers, dict):
        raise WireError(f"{leftovers!r} are no leftovers")
    for token in leftovers:
        yield token, texts(leftovers, token)


def _inotify() -> Inotify | None:
    try:
        return Inotify()
    except OSError:
        return None
