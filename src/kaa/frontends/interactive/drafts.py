"""Keeps what is typed and not sent beside its session, so that a kill does not lose it.

A session that has no file yet has its draft where that file would be. If kaa is killed then, the next new session of
the same folder takes the draft over. What is entered before a session is open is kept in kaa's home.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from kaa.core.messages import ImageContent, UserMessage, now_ms
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.early_text import EarlyText, LeftText
from kaa.frontends.interactive.main_view import MainView
from kaa.host.regular_files import read_regular
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionError
from kaa.session.file.append_file import PRIVATE_FILE, create_private_folders
from kaa.session.file.file_store import draft_images_path, draft_path
from kaa.session.file.lock import lock
from kaa.session.transcript import Transcript
from kaa.tui.sanitize import sanitize

# As much typing as a kill may lose.
_DELAY_SECONDS = 0.5
_LARGEST_BYTES = 4 * 1024 * 1024
_LARGEST_BYTES_OF_IMAGES = 64 * 1024 * 1024
_MARGIN_BYTES = 1024 * 1024  # of the JSON around them
_MOST_ASIDE = 100


class _Sent(msgspec.Struct, frozen=True):
    """What was entered, and when, in milliseconds of Unix time."""

    text: str
    at: int


class _Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands in the file. The process in whose editor the text is holds a lock on it."""

    text: str
    sent: tuple[_Sent, ...] = ()  # the beginning of the text


class Draft(msgspec.Struct, frozen=True):
    """What was typed and not sent.

    Attributes:
        images: those whose markers are in the text, by their numbers there.
        sent: the beginning of the text, which was entered; the session may have it nevertheless.
    """

    text: str = ""
    images: dict[int, ImageContent] = {}
    sent: tuple[_Sent, ...] = ()

    def without_recorded(self, entries: Transcript) -> "Draft":
        """The draft without what a session has: kaa may have ended just when it was recorded."""
        if not self.sent:
            return self
        recorded = []
        with contextlib.suppress(SessionError):  # what cannot be read has not got it
            for entry in reversed(entries):
                if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                    if entry.message.timestamp < self.sent[0].at:
                        break
                    recorded.append(entry.message.said.text)
        left = []
        for text in (one.text for one in self.sent):
            found = next(
                (place for place in range(len(recorded) - 1, -1, -1) if recorded[place].startswith(text)), None
            )
            if found is None:
                left.append(text)
            else:  # each counts once, and in its turn
                del recorded[found:]
        typed = self.text[len(_joined(one.text for one in self.sent)) :].removeprefix("\n\n")
        return Draft(_joined((*left, typed)), self.images)


_DRAFT = msgspec.json.Decoder(_Draft)
_IMAGES = msgspec.json.Decoder(dict[int, ImageContent])


class _UnreadableError(Exception):
    """There is something in the place of a draft that is none."""


def recover_draft(session: Path) -> Draft:
    """What was typed in a session and not sent when its kaa was killed; empty if there is nothing.

    What cannot be read is put aside, as `….draft.unreadable`, so that the next draft does not replace it.

    Args:
        session: the file of the session, which need not exist yet.
    """
    path = draft_path(session)
    if not os.path.lexists(path) and not os.path.lexists(session):
        _take_over(session.parent, path)
    try:
        draft = _read(path)
    except _UnreadableError:
        _put_aside(path)
        return Draft()
    images = _images_of(draft_images_path(session)) if draft.text else {}
    return Draft(sanitize(draft.text), images, draft.sent if draft.text == sanitize(draft.text) else ())


class DraftKeeper:
    """Writes what stands in the editor, a moment after each change.

    Args:
        attachments: has the images whose markers stand there.
        early: keeps what was entered for a session that is not open yet; None if nothing is kept.
    """

    def __init__(self, main_view: MainView, attachments: Attachments, early: EarlyText | None) -> None:
        self._main_view = main_view
        self._attachments = attachments
        self._early = early
        self._entered: Sequence[str] = ()  # for a session that is not open yet
        self._sent: list[tuple[_Sent, dict[int, ImageContent]]] = []  # what nothing else keeps yet
        self._keeps = True
        self._path: Path | None = None
        self._images_path: Path | None = None
        self._kept_images: dict[int, ImageContent] | None = None  # None: nobody knows what is on the disk
        self._when_kept: list[Callable[[], None]] = []
        self._is_due = False
        self._held: int | None = None
        self._was_told = False
        main_view.on_leave = self.keep

    def begin(self, session: Path | None, typed: Draft, left: LeftText | None = None) -> None:
        """Keep the drafts of this session from now on.

        Args:
            session: its file; None for one that is not kept.
            typed: what was typed in it before and not sent; it goes back into the editor.
            left: what was entered while another kaa started here, which was killed; it goes there, too.
        """
        self._keeps = session is not None
        before, images_before = self._path, self._images_path
        self._path = draft_path(session) if session is not None else None
        self._images_path = draft_images_path(session) if session is not None else None
        self._kept_images = None
        if typed.text and typed.text != self._main_view.editor.text:
            self._main_view.give_back([self._attachments.renewed(typed.text, typed.images)], "\n")
            self._main_view.say("restored: kaa ended before this was sent")
        if left is not None:
            self._main_view.give_back([left.text], "\n\n")
            self._main_view.say("restored: kaa ended before this was sent")
            self.keep_then(left.let_go)

        def remove() -> None:
            for path in filter(None, (before, images_before) if before != self._path else ()):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

        if before is not None and before != self._path:
            self.keep_then(remove)  # what is in the editor comes along
        self.changed()

    def entered(self, texts: Sequence[str]) -> None:
        """Keep these, which were entered for a session that is not open yet, instead of those before."""
        self._entered = tuple(texts)
        self.keep()

    def hold(self, text: str) -> Callable[[], None]:
        """Keep what was entered, with its images, before what stands in the editor, until the result is called."""
        sent = _Sent(_encodable(text), now_ms()), self._attachments.held(text)
        self._sent.append(sent)
        self.keep()

        def release() -> None:
            if any(one is sent for one in self._sent):
                self._sent = [one for one in self._sent if one is not sent]
                self.keep()

        return release

    def keep_then(self, kept: Callable[[], None]) -> None:
        """Write what stands in the editor at once, and call `kept` when it is on the disk."""
        self._when_kept.append(kept)
        self.keep()

    def changed(self) -> None:
        """The text in the editor is another one."""
        if not self._is_due:
            self._is_due = True
            self._main_view.app.reactor.call_later(_DELAY_SECONDS, self.keep)

    def keep(self) -> None:
        """Write what stands in the editor now. That it cannot be written is no reason to disturb who types."""
        self._is_due = False
        early = _problem(self._keep_early)
        typed = self._main_view.editor.text
        has_typed = (
            not self._entered or bool(early) or bool(self._attachments.held(typed))
        )  # else the early text has it
        draft = _problem(lambda: self._keep_draft(typed if has_typed else ""))
        problems = [problem for problem in (draft, early) if problem]
        if problems and not self._was_told:
            self._main_view.say(problems[0], "warning")
        self._was_told = bool(problems)
        if problems or self._path is None:
            return
        if not self._entered and self._early is not None:
            self._early.let_go()
        when_kept, self._when_kept = self._when_kept, []
        for kept in when_kept:
            kept()

    def _keep_early(self) -> str:
        """Keep what was entered for a session that is not open yet, and what is typed behind it."""
        if self._early is not None and (self._path is None or self._entered):
            sent = () if self._path is not None else tuple(one.text for one, _ in self._sent)
            self._early.keep((*self._entered, *sent, self._main_view.editor.text) if self._keeps else ())
        return ""

    def _keep_draft(self, typed: str) -> str:
        """Keep what was sent and what is typed beside the session. Returns why it cannot be."""
        if self._path is None:
            return ""
        sent = tuple(one for one, _ in self._sent)
        text = _joined((*(one.text for one in sent), _encodable(typed)))
        images = {number: image for _, held in self._sent for number, image in held.items()}
        images |= self._attachments.held(typed)
        if not text:
            self._hold(None)
            self._path.unlink(missing_ok=True)
            _ = self._keep_images({})
        elif len(data := msgspec.json.encode(_Draft(text, sent))) <= _LARGEST_BYTES:
            has_images = self._keep_images(images)
            self._hold(_write(self._path, data))
            if not has_images:
                return "the images of this text are too large to be saved before it is sent: the limit is 64 MiB"
        else:
            return "this text is too long to be saved before it is sent: the limit is 4 MiB"
        return ""

    def _keep_images(self, images: dict[int, ImageContent]) -> bool:
        """Write the images, which are large, only when they are others. Returns False if they are too large."""
        if images == self._kept_images or self._images_path is None:
            return True
        if not images:
            self._images_path.unlink(missing_ok=True)
        elif sum(len(image.data) for image in images.values()) > _LARGEST_BYTES_OF_IMAGES - _MARGIN_BYTES:
            return False
        else:
            os.close(_write(self._images_path, msgspec.json.encode(images)))
        self._kept_images = images
        return True

    def _hold(self, descriptor: int | None) -> None:
        """Keep the lock of this file, and not that of the one before."""
        before, self._held = self._held, descriptor
        if before is not None:
            os.close(before)


def _problem(keep: Callable[[], str]) -> str:
    """Why something cannot be kept; empty if it is."""
    try:
        return keep()
    except (OSError, SessionError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        return f"what you type cannot be saved before it is sent: {why}"


def _read(path: Path) -> _Draft:
    """A draft; an empty one if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return _Draft("")
    except OSError as error:
        raise _UnreadableError from error
    with open(descriptor, "rb") as file:
        return _decoded(file.fileno())


def _decoded(descriptor: int) -> _Draft:
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST_BYTES:
            raise _UnreadableError
        return _DRAFT.decode(os.pread(descriptor, _LARGEST_BYTES, 0))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _UnreadableError from error


def _images_of(path: Path) -> dict[int, ImageContent]:
    """The images of a draft; none if they cannot be read: their markers in the text say what is missing."""
    try:
        return _IMAGES.decode(read_regular(path, _LARGEST_BYTES_OF_IMAGES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _put_aside(path: Path) -> None:
    for number in range(_MOST_ASIDE):
        aside = path.with_name(f"{path.name}.unreadable" + (f"-{number + 1}" if number else ""))
        if not os.path.lexists(aside):
            with contextlib.suppress(OSError):
                path.rename(aside)
            return


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


def _write(path: Path, data: bytes) -> int:
    """Replace a draft. Returns the new file, open and locked, so that others see that its kaa lives."""
    create_private_folders(path.parent)
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        lock(descriptor, new)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        new.replace(path)
    except BaseException:
        os.close(descriptor)
        new.unlink(missing_ok=True)
        raise
    return descriptor


def _take_over(folder: Path, path: Path) -> None:
    """Move the newest draft of a session that has no file, and whose process is gone, to `path`."""
    suffix = draft_path(Path("s.jsonl")).suffix
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(suffix)), reverse=True)
    except OSError:
        return
    for left in map(folder.joinpath, names):
        if os.path.lexists(left.with_suffix("")):
            continue
        try:
            descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        with open(descriptor, "rb"), contextlib.suppress(OSError, SessionError, _UnreadableError):
            lock(descriptor, left)
            if not os.path.samestat(os.fstat(descriptor), os.lstat(left)):  # its kaa has replaced it meanwhile
                continue
            _decoded(descriptor)
            left.rename(path)
            images = draft_images_path(left.with_suffix(""))
            if images.exists():
                images.rename(draft_images_path(path.with_suffix("")))
            return
