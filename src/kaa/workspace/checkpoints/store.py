"""What is kept of a project between its turns, outside of it and out of the reach of commands.

lock              held in common by whoever uses the folder, alone by whoever removes something from it
packs/            contents (see `packs`)
sets/<id>.json    change sets
manifests/        what the project looked like the last time, one file for each process; only saves reading
turns/<session>   while a turn is under way that may change files: what tells afterwards that it was killed; then empty
restores/<token>  while files are put back: in which directories temporary files may be
"""

import contextlib
import fcntl
import io
import json
import os
import time
from collections.abc import Iterable, Iterator
from urllib.parse import quote

import msgspec

from kaa.host import regular_files
from kaa.host.regular_files import regular
from kaa.workspace.checkpoints.contract import ChangeSet, CheckpointLimits, FileState, MissingCheckpointError
from kaa.workspace.checkpoints.manifests import Manifests
from kaa.workspace.checkpoints.packs import Packs, write_all

_MODE = 0o700
_FILE_MODE = 0o600
_FOLDERS = ("packs", "sets", "manifests", "turns", "restores")
_SECONDS_PER_DAY = 86_400
_MEGABYTE = 1024 * 1024
# How long a restore of somebody else is waited for; one of 100,000 files takes about as long.
_RESTORE_SECONDS = 30
_POLL_SECONDS = 0.01
# So much of the limit is left when something has to go, so that it does not have to go again at once.
_LEFT_OF_LIMIT = 0.8


class Turn(msgspec.Struct, frozen=True):
    """A turn that was under way. `began`: Unix time in nanoseconds. `manifest`: what was known of files before it."""

    manifest: str
    began: int
    last_sign: int = 0


class _Restore(msgspec.Struct, frozen=True):
    """Files are being put back by a session, in these directories."""

    session: str
    directories: list[str]


class DiskUse(msgspec.Struct, frozen=True):
    """What the checkpoints of a project take. `oldest`: Unix time in seconds, None without any."""

    folder: str
    megabytes: float
    checkpoints: int
    oldest: float | None


class CheckpointStore:
    """The folder of one project, for one session. Blocking: call it in a thread, unless a method takes microseconds.

    Args:
        folder: absolute path; created when needed.
        limits: what may be kept.

    Raises:
        OSError: the folder cannot be used.
    """

    def __init__(self, folder: str, limits: CheckpointLimits) -> None:
        self._folder = folder
        self._limits = limits
        for path in (os.path.dirname(folder), folder, *(os.path.join(folder, name) for name in _FOLDERS)):
            os.makedirs(path, _MODE, exist_ok=True)
        os.chmod(folder, _MODE)
        self._lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
        regular_files.lock(self._lock, fcntl.LOCK_SH)
        self._restore = -1
        self._restore_token = ""
        self._turn: io.FileIO | None = None  # its note, which is empty between turns
        self.packs = Packs(os.path.join(folder, "packs"))
        self.manifests = Manifests(os.path.join(folder, "manifests"))

    def save(self, change_set: ChangeSet) -> None:
        """Keep a change set.

        Raises:
            OSError: the disk is full or failed.
        """
        self._write(self._set_path(change_set.id), json.dumps(msgspec.to_builtins(change_set)).encode("ascii"))

    def load(self, change_set_id: str) -> ChangeSet:
        """A change set.

        Raises:
            MissingCheckpointError: it is not kept.
        """
        try:
            with open(self._set_path(change_set_id), "rb", opener=regular) as file:
                return msgspec.convert(json.loads(file.read()), ChangeSet)
        except FileNotFoundError:
            raise MissingCheckpointError(
                "what files were then is no longer kept: it was removed to save space, or belongs to another directory"
                " (checkpoints.maxMegabytes and maxDays in settings.json say how much is kept)"
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise MissingCheckpointError(f"what files were then cannot be read any more: {error}") from error

    def content(self, state: FileState) -> bytes:
        """The content of a file, or a symlink's target.

        Raises:
            MissingCheckpointError: it is not kept, or damaged.
            OSError: the disk failed.
        """
        content = self.packs.get(state.digest)
        if content is None:
            raise MissingCheckpointError("the content of a file is no longer kept, or its copy is damaged")
        return content

    def last_manifest(self, root: str, turn: Turn | None) -> bytes:
        """What a turn that was killed began from, or else what was last known of the project at `root`."""
        return self.manifests.last(root, self.manifests.own if turn is None else turn.manifest)

    def begin_manifest(self, root: str, known: bytes) -> None:
        """Go on from what is known. Raises as `save` does."""
        self.manifests.begin(root, known, [turn.manifest for turn in self._turns()])

    def begin_turn(self, session_id: str, began: int) -> None:
        """Note that files may change since `began`; takes microseconds. Raises as `save` does."""
        path, note = self._turn_path(session_id), msgspec.json.encode(Turn(self.manifests.own, began))
        if self._turn is not None and os.fstat(self._turn.fileno()).st_nlink:
            self._turn.seek(0)  # in place: a new file for each turn takes longer than the rest of its checkpoint
            write_all(self._turn.fileno(), note, path)
            self._turn.truncate()
            return
        self._write(path, note)
        if self._turn is not None:  # it was removed
            self._turn.close()
        self._turn = io.FileIO(path, "r+", opener=regular)

    def touch_turn(self, session_id: str) -> None:
        """The turn is still under way: what changes later than this is not its doing."""
        with contextlib.suppress(OSError):
            os.utime(self._turn_path(session_id))

    def end_turn(self, session_id: str) -> None:
        """What the turn did is kept; takes microseconds."""
        if self._turn is not None:
            self._turn.truncate(0)
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._turn_path(session_id))

    def killed_turn(self, session_id: str) -> Turn | None:
        """The turn of a session that was under way when kaa was killed.

        None also if it is not known what the project looked like before it: nobody could tell what it did.
        """
        turn = self._read_turn(self._turn_path(session_id))
        return turn if turn is not None and self.manifests.read(turn.manifest) is not None else None

    def begin_restore(self, session_id: str, token: str, directories: list[str]) -> int:
        """Note that files in these directories are going to be replaced, through temporary ones that have the token.

        Returns a descriptor of the note, for reading: as long as anybody has it open, the restore is under way.

        Raises:
            OSError: the disk is full or failed.
        """
        path = self._path("restores", token)
        self._restore = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
        regular_files.lock(self._restore, fcntl.LOCK_EX)
        self._restore_token = token
        note = msgspec.to_builtins(_Restore(session_id, directories))
        try:
            with open(path, "wb", buffering=0) as file:
                write_all(file.fileno(), json.dumps(note).encode("ascii"), path)
        except OSError:
            self.end_restore(leftovers=False)
            raise
        return self._restore

    def end_restore(self, *, leftovers: bool) -> None:
        """The restore is over. `leftovers`: temporary files may still be there, as `killed_restores` tells."""
        if not leftovers:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path("restores", self._restore_token))
        os.close(self._restore)
        self._restore = -1

    def killed_restores(self) -> dict[str, list[str]]:
        """The tokens of restores that did not come to their end, with their directories.

        Waits for those that are under way: a slot carries out what it was sent before its kaa was killed.
        """
        found = {}
        deadline = time.monotonic() + _RESTORE_SECONDS
        for token in os.listdir(self._path("restores")):
            with (
                contextlib.suppress(OSError, ValueError),
                open(self._path("restores", token), "rb", opener=regular) as file,
            ):
                _lock(file.fileno(), deadline)
                found[token] = msgspec.convert(json.loads(file.read()), _Restore).directories
        return found

    def forget_restores(self, tokens: Iterable[str]) -> None:
        """Their temporary files are gone."""
        for token in tokens:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path("restores", token))

    def use(self) -> DiskUse:
        """What the folder takes on the disk."""
        sets = self._sets()
        size = self.packs.size + self.manifests.size + sum(size for _, _, size in sets)
        return DiskUse(self._folder, size / _MEGABYTE, len(sets), min((age for age, _, _ in sets), default=None))

    def prune(self) -> int:
        """Remove what is beyond the limits, unless somebody else uses the folder. Returns how many change sets went.

        First what is older than `max_days`; then, if all takes more than `max_megabytes`, the oldest, until the rest
        takes four fifths of that; then contents that nothing refers to. What the project looks like is forgotten if
        nobody worked in it for `max_days`.

        Raises:
            OSError: the disk failed.
        """
        oldest_allowed = time.time() - self._limits.max_days * _SECONDS_PER_DAY
        self._forget_turns(oldest_allowed)
        forgotten = self.manifests.forget(oldest_allowed)
        sets = self._sets()
        size = self.packs.size + sum(size for _, _, size in sets)
        limit = self._limits.max_megabytes * _MEGABYTE
        if size <= limit and not forgotten and all(age >= oldest_allowed for age, _, _ in sets):
            return 0
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            regular_files.lock(
                self._lock, fcntl.LOCK_SH
            )  # flock(2): one that is asked for in vain takes the other away
            return 0
        try:
            return self._prune(oldest_allowed, limit if size <= limit else round(limit * _LEFT_OF_LIMIT))
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        """Let go of the folder."""
        if self._turn is not None:
            with self._turn as file, contextlib.suppress(FileNotFoundError):
                if not os.fstat(file.fileno()).st_size:  # it has ended
                    os.unlink(file.name)
        self.packs.close()
        self.manifests.close()
        os.close(self._lock)

    def _prune(self, oldest_allowed: float, limit: int) -> int:
        """Keep the newest change sets that fit. What the project looks like now is needed for the next turn."""
        self.packs.look_again()
        live = self.manifests.digests()
        size = sum(map(self.packs.length, live))
        removed = 0
        for age, change_set_id, own_size in sorted(self._sets(), reverse=True):  # somebody may have kept one by now
            try:
                states = [
                    state for change in self.load(change_set_id).changes for state in (change.before, change.after)
                ]
            except MissingCheckpointError:
                states = []
            new = {state.digest for state in states if state is not None and state.digest} - live
            needed = own_size + sum(map(self.packs.length, new))
            if removed or age < oldest_allowed or size + needed > limit:
                os.unlink(self._set_path(change_set_id))
                removed += 1
            else:
                live |= new
                size += needed
        self.packs.keep_only(live)
        return removed

    def _sets(self) -> list[tuple[float, str, int]]:
        """When each change set was made, its id, and its size in bytes."""
        found = []
        with os.scandir(self._path("sets")) as entries:
            for entry in entries:
                if entry.name.endswith(".json"):  # else it was being written when somebody was killed
                    status = entry.stat()
                    found.append((status.st_mtime, entry.name.removesuffix(".json"), status.st_size))
        return found

    def _forget_turns(self, before: float) -> None:
        """Those of sessions that nobody went on with for so long; and what was never written to its end."""
        for folder in ("turns", "sets", "restores"):
            with os.scandir(self._path(folder)) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        if not entry.name.endswith(".json") and entry.stat().st_mtime < before:
                            os.unlink(entry.path)

    def _turns(self) -> Iterator[Turn]:
        for name in os.listdir(self._path("turns")):
            if (turn := self._read_turn(self._path("turns", name))) is not None:
                yield turn

    def _read_turn(self, path: str) -> Turn | None:
        try:
            with open(path, "rb", opener=regular) as file:
                turn = msgspec.json.decode(file.read(), type=Turn)
                return msgspec.structs.replace(turn, last_sign=os.fstat(file.fileno()).st_mtime_ns)
        except (OSError, msgspec.DecodeError):
            return None

    def _write(self, path: str, data: bytes) -> None:
        """A small file, all at once."""
        temporary = f"{path}.{os.urandom(4).hex()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
        try:
            try:
                write_all(descriptor, data, path)
            finally:
                os.close(descriptor)
            os.rename(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _path(self, *names: str) -> str:
        return os.path.join(self._folder, *names)

    def _set_path(self, change_set_id: str) -> str:
        return self._path("sets", f"{quote(change_set_id, safe='')}.json")

    def _turn_path(self, session_id: str) -> str:
        return self._path("turns", quote(session_id, safe=""))


def _lock(descriptor: int, deadline: float) -> None:
    """Lock a file that others have locked, once they let go of it.

    Raises:
        BlockingIOError: they did not until the deadline (`time.monotonic`).
    """
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_SECONDS)


def new_change_set_id() -> str:
    """Sorts by time."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(6).hex()}"
