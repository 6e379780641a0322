"""Keeps the messages that wait for the model beside their session, which has them only when the model gets them."""

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from kaa.core.agent import Agent
from kaa.core.events import Event, QueueUpdate
from kaa.core.messages import UserMessage
from kaa.host.log import LOG
from kaa.host.regular_files import read_regular
from kaa.session.as_user_message import custom_entry
from kaa.session.errors import SessionWriteError
from kaa.session.file.file_store import FileStore, waiting_path
from kaa.session.file.whole_file import whole_file

_LARGEST_BYTES = 64 * 1024 * 1024
_DECODER = msgspec.json.Decoder(list[UserMessage])


class WaitingMessages:
    """What waits in one session, and what waited in it when its kaa was killed.

    Args:
        session: the file of the session, which only this process has open.
        left: what waited when its kaa was killed; it stays here until it is taken.
        notify: told, in a sentence, that they cannot be kept.
        for_session: what extensions sent and the session could not get yet: it stays here for the next opening.
    """

    def __init__(
        self,
        session: Path,
        left: Sequence[UserMessage] = (),
        notify: Callable[[str], object] = lambda _: None,
        for_session: Sequence[UserMessage] = (),
    ) -> None:
        self._session = session
        self._notify = notify
        self._was_told = False
        self._path = waiting_path(session)
        self._for_session = tuple(for_session)
        self._left = list(left)
        self._handed_out: list[UserMessage] = []  # those of them that somebody has, and that nothing else keeps yet
        self._waiting: list[UserMessage] = []

    def follow(self, agent: Agent) -> None:
        """Keep what waits for this agent, from now on."""

        def note(event: Event) -> None:
            if isinstance(event, QueueUpdate):  # later: what does not wait any more is in the session then
                asyncio.get_running_loop().call_soon(lambda: self.keep(agent.waiting))

        agent.subscribe(note)

    def keep(self, waiting: Sequence[UserMessage]) -> None:
        """These wait now, and no others. That they cannot be written is no reason to stop the run."""
        self._waiting = list(waiting)
        messages = [*self._for_session, *self._left, *self._waiting]
        try:
            if messages:
                _write(self._path, msgspec.json.encode(messages))
            else:
                self._path.unlink(missing_ok=True)
        except OSError as error:
            LOG.warning("messages that wait cannot be kept: %s", error)
            if messages and not self._was_told:
                self._was_told = True
                why = error.strerror or error
                self._notify(f"messages that wait cannot be kept ({why}): they are lost if kaa is killed")
        else:
            self._was_told = False

    def leave(self, messages: Sequence[UserMessage]) -> None:
        """Keep these for the next opening of the session, if there can be one."""
        if not self._session.exists():
            return
        new = [message for message in messages if not _has(self._left, message)]
        self._left = sorted([*self._left, *new], key=lambda message: message.timestamp)
        self.keep(self._waiting)

    def hold(self, messages: Sequence[UserMessage]) -> None:
        """Keep these until `let_go`, as they wait no more but nothing else keeps them yet."""
        self._handed_out += [message for message in messages if not _has(self._left, message)]
        self.leave(messages)

    def take_left(self) -> list[UserMessage]:
        """Take what waited when the session's kaa was killed. A kill before `let_go` leaves it here."""
        left = [message for message in self._left if not _has(self._handed_out, message)]
        self._handed_out += left
        return left

    def let_go(self, messages: Sequence[UserMessage]) -> None:
        """Something else keeps these messages, which `take_left` gave or `hold` got."""
        before = len(self._left)
        self._left = [message for message in self._left if not _has(messages, message)]
        self._handed_out = [message for message in self._handed_out if not _has(messages, message)]
        if len(self._left) < before:
            self.keep(self._waiting)


def recover_waiting(
    store: FileStore, notify: Callable[[str], None], *, somebody_looks: bool, was_handed_over: bool = False
) -> WaitingMessages:
    """What waited when a session's kaa was killed. What extensions had sent gets into the session: the model reads it.

    Nothing may be at work in the session yet.

    Args:
        notify: told, in a sentence, what becomes of the messages of the person.
        was_handed_over: whether another process left them for this one: it takes them, and nothing is to be told.
    """
    path = waiting_path(store.path)
    try:
        left = _DECODER.decode(read_regular(path, _LARGEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        aside = path.with_name(f"{path.name}.unreadable")
        with suppress(OSError):  # a disk that is read-only: it stays where it is
            path.replace(aside)
        notify(f"messages that waited when kaa ended cannot be read ({error}): they are in {aside}")
        return WaitingMessages(store.path, (), notify)
    sent = [message for message in left if message.note is not None or message.origin != "person"]
    left = [message for message in left if message not in sent]
    if sent:
        try:
            store.append(*map(custom_entry, sent))
            store.request_sync()
            sent = []
        except SessionWriteError as error:
            notify(f"{error}; the next opening adds what agents and extensions sent")
    if left and not was_handed_over:
        messages = "a message was" if len(left) == 1 else f"{len(left)} messages were"
        where = "back in the editor" if somebody_looks else "kept for the editor of the terminal (kaa -c)"
        notify(f"kaa ended before {messages} sent: {where}")
    waiting = WaitingMessages(store.path, left, notify, sent)
    waiting.keep(())
    return waiting


def _has(messages: Sequence[UserMessage], message: UserMessage) -> bool:
    """Whether a message itself is among these: another one may say the same."""
    return any(one is message for one in messages)


def _write(path: Path, data: bytes) -> None:
    if len(data) > _LARGEST_BYTES:
        path.unlink(missing_ok=True)  # better none than those from before
        raise OSError(errno.EFBIG, "they are too long", str(path))
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with whole_file(path.name, folder, replace=True) as file:
            file.write(data)
    finally:
        os.close(folder)
