"""What is at a guarded name: the files that other programs execute or obey, and what of them is dangerous.

Everything is opened by way of the directory it is in and without following symlinks, so that a name that is
exchanged meanwhile leads nowhere else.
"""

import binascii
import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kaa.hands.below import NOTHING_THERE, may_enter, open_closed
from kaa.hands.digest import new_digest
from kaa.hands.git_state import Judge
from kaa.hands.lazy_pattern import LazyPattern

MAX_CONTENT_BYTES = 128 * 1024  # of a file that can be put back, and of a configuration that is judged
MAX_SAVED_BYTES = 1024 * 1024  # of a file that is moved away and was perhaps the user's
_MAX_COMPARED_BYTES = 8 * 1024 * 1024  # of a file; 10 ms
MAX_DEPTH = 16  # of one guarded directory, of which so many are open at a time
_MAX_EXCHANGES = 16  # of a file for a link and back, while one is opened
_EXCHANGED = (errno.ELOOP, errno.EINVAL, errno.ENXIO)
KEPT_MARK = ".kaa-blocked"
# Git uses each directory in these, whatever its name is.
CONTAINERS = frozenset(("worktrees", "modules"))
_MAX_KEPT_BYTES = 224  # of a name, with room for what makes it another
_KEPT = LazyPattern(r"(.*?)(?:\.kaa-blocked(?:-[0-9a-f]+)?(?:\.lock)?)+")

# Called with an open file or directory, before it is read; for a directory, with the names that matter in it.
Watch: TypeAlias = Callable[[int, "frozenset[str] | Plain | None"], None]


class Plain(NamedTuple):
    """Of a directory that git writes all the time: some names matter, and besides those only symlinks.

    Attributes:
        interests: says whether a name matters; a function of a module, so that it equals itself.
        path: of the directory, absolute.
        grows: directories that appear in it are such directories too.
    """

    interests: Callable[[str], bool]
    path: str
    grows: bool

    def matters(self, name: str, *, is_directory: bool) -> bool:
        """Whether something that happened under a name has to be looked at. A link is there until the next event."""
        if self.interests(name) or (is_directory and self.grows):
            return True
        return not is_directory and may_be_link(os.path.join(self.path, name))


class WrittenFile(NamedTuple):
    """A file that kaa wrote.

    Attributes:
        path: absolute, without links.
        digest: of the beginning of its content, `MAX_CONTENT_BYTES` and one more.
        size: of all of it, in bytes.
    """

    path: str
    digest: str
    size: int


class GuardedItem(NamedTuple):
    """One file, link or directory.

    Attributes:
        dangers: what it makes other programs do; empty if nothing. A change is harmful if there is a new one.
        reason: what is dangerous about it, as a sentence without its dot.
        content: of a file that is small enough to be put back.
    """

    dangers: frozenset[str]
    reason: str
    content: bytes | None = None
    mode: int = 0o644

    @property
    def ending(self) -> str:
        """Of the name under which it is kept: git takes no name with this one for a branch whose log it would write."""
        return NO_BRANCH if self.reason in _OF_GIT_DATA else ""

    @property
    def is_unread(self) -> bool:
        """Whether nobody looked at it, because there is more than can be checked."""
        return self.dangers >= TOO_MUCH

    @property
    def is_noted(self) -> bool:
        """Whether nobody has read it, but a change of it is seen."""
        return self.dangers >= NOTED

    @property
    def is_link(self) -> bool:
        """Whether it is no file or directory but leads to one, or cannot be read."""
        return any(danger.startswith("-> ") for danger in self.dangers)

    @property
    def target(self) -> str:
        """Where it leads, if it is a link; empty if it is none, or cannot be read."""
        leads_to = next(iter(self.dangers)).removeprefix("-> ") if self.is_link and len(self.dangers) == 1 else ""
        return "" if leads_to == _UNREADABLE else leads_to

    @property
    def has_other_names(self) -> bool:
        """Whether it is, or was, a file with a hard link: what holds the one name does not hold the other."""
        return _OTHER_NAMES in self.dangers

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, as far as such a one is dangerous."""
        return self.dangers <= {DIRECTORY} and self.content is None

    def has(self, written: WrittenFile) -> bool:
        """Whether it is this file. Of a long one, only the beginning and the size are known."""
        if self.content is not None:
            return new_digest(self.content).hexdigest() == written.digest
        return {written.digest, _size(written.size)} <= self.dangers

    def after(self, former: "GuardedItem") -> "GuardedItem":
        """The same as a harmless change of another one.

        What was opened by a name that is gone can still be written.
        """
        return self._replace(dangers=self.dangers | {_OTHER_NAMES}) if former.has_other_names else self


NO_BRANCH = ".lock"  # how no part of a branch's name may end (git-check-ref-format(1))
GIT_LINK = "git would write or read other files through it"
DEEP_GIT_DIRECTORY = "it is deeper in a repository than can be checked for links"
UNCHECKED_GIT_DIRECTORIES = "it is in a repository with more directories than can be checked for links"
CROWDED_REPOSITORY = "it is in a repository with more of what git obeys than can be checked"
_OF_GIT_DATA = (GIT_LINK, DEEP_GIT_DIRECTORY, UNCHECKED_GIT_DIRECTORIES, CROWDED_REPOSITORY)
PROTECTED_REASON = "other programs execute or obey it when the project is opened"
TOO_MUCH = frozenset({"too much"})  # there is more than can be checked
NOTED = frozenset({"noted"})
DIRECTORY = "a directory"
_OTHER_NAMES = "another name"
_UNREADABLE = "nothing that can be read"
Items: TypeAlias = dict[str, GuardedItem]  # by path below the guarded name, which itself is ""


def too_much(reason: str) -> GuardedItem:
    """Something that nobody looks at, because there is more than can be checked."""
    return GuardedItem(TOO_MUCH, reason)


def may_be_link(path: str) -> bool:
    """Whether a symlink is at a path, or nobody can say what is."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (OSError, ValueError) as error:
        return isinstance(error, OSError) and error.errno not in NOTHING_THERE


def have_content(items: Items) -> bool:
    """Whether there is more than an empty directory: something that can be written without an event of inotify."""
    return bool(items) and (items.keys() != {""} or DIRECTORY not in items[""].dangers)


def is_kept_name(name: str) -> bool:
    """Whether something may be kept under this name, by whoever."""
    return _KEPT.fullmatch(name) is not None


def kept_part(path: str) -> str | None:
    """The path of what was moved away, of what is in it; None if nothing on the way was."""
    names = path.split("/")
    kept = (at for at, name in enumerate(names, 1) if is_kept_name(name))
    return next(("/".join(names[:at]) for at in kept), None)


def is_out_of_use(path: str) -> bool:
    """Whether something in a git directory is in what was moved away, under a name that git does not use.

    Commands can give such names, too; among worktrees and submodules, git uses each.
    """
    kept = kept_part(path) if KEPT_MARK in path else None  # nearly no path has that
    return kept is not None and kept.endswith(NO_BRANCH) and os.path.basename(os.path.dirname(kept)) not in CONTAINERS


def kept_names(name: str, ending: str = "") -> Iterator[str]:
    """Names under which something may be kept, without end. A long name is cut: file systems allow 255 bytes.

    What the guard of another kaa has moved away gets another number.
    """
    if (kept := _KEPT.fullmatch(name)) is not None:
        name = kept[1]
    name = os.fsdecode(os.fsencode(name)[:_MAX_KEPT_BYTES])
    yield f"{name}.kaa-blocked{ending}"
    for number in range(2, 10):
        yield f"{name}.kaa-blocked-{number}{ending}"
    while True:
        yield f"{name}.kaa-blocked-{os.urandom(6).hex()}{ending}"


class OpenedItem(NamedTuple):
    """An open regular file or directory."""

    descriptor: int
    status: os.stat_result

    @property
    def is_file(self) -> bool:
        """Whether it is no directory."""
        return stat.S_ISREG(self.status.st_mode)


class UnopenedItem(NamedTuple):
    """Something that is there and cannot be read: a link, a device, a file that nobody may open.

    Attributes:
        leads_to: what matters of it: where a link leads.
    """

    leads_to: str = _UNREADABLE

    def items(self, path: str, reason: str) -> Items:
        """The only item at a path."""
        return {path: GuardedItem(frozenset({f"-> {self.leads_to}"}), reason)}


@contextlib.contextmanager
def opened(name: str, directory: int | None = None) -> Iterator[OpenedItem | UnopenedItem | None]:
    """What is under a name in a directory; None if nothing is. What a command has closed is open all the same."""
    with contextlib.ExitStack() as held:
        yield _open(held, name, directory)


def _open(held: contextlib.ExitStack, name: str, directory: int | None) -> OpenedItem | UnopenedItem | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    for _ in range(_MAX_EXCHANGES):
        try:
            kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
            if stat.S_ISLNK(kind):
                return UnopenedItem(os.readlink(name, dir_fd=directory))
            if not _can_be_opened(kind):
                return UnopenedItem()
            found = _reached(held, name, directory, flags)
        except OSError as error:
            if error.errno in _EXCHANGED:
                continue
            if error.errno in NOTHING_THERE:
                return None
            return UnopenedItem()
        if found is None:
            return UnopenedItem()
        if _can_be_opened(found.status.st_mode):
            return found
    return UnopenedItem()


def _reached(held: contextlib.ExitStack, name: str, directory: int | None, flags: int) -> OpenedItem | None:
    """Open something until the stack is left; None if another user has closed it."""
    descriptor: int | None
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except PermissionError:
        if directory is None:
            raise
    else:
        held.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        if directory is None or not stat.S_ISDIR(status.st_mode) or may_enter(descriptor):
            return OpenedItem(descriptor, status)
    descriptor = open_closed(held, name, directory)
    return None if descriptor is None else OpenedItem(descriptor, os.fstat(descriptor))


def _can_be_opened(kind: int) -> bool:
    """Whether opening it does nothing else, unlike with a device or a FIFO."""
    return stat.S_ISREG(kind) or stat.S_ISDIR(kind)


def _size(size: int) -> str:
    return f"{size} bytes"


def _whole(found: OpenedItem) -> str:
    """What changes with any byte of a long file. A command can set all times of a file but that of its last change."""
    if found.status.st_size > _MAX_COMPARED_BYTES:
        return f"last changed at {found.status.st_ctime_ns}"
    digest, at = new_digest(), 0
    while at < _MAX_COMPARED_BYTES and (read := os.pread(found.descriptor, MAX_CONTENT_BYTES, at)):
        digest.update(read)
        at += len(read)
    return f"all of it: {digest.hexdigest()}"


def whatever(content: bytes) -> frozenset[str]:
    """The danger of a file of which every change matters."""
    return frozenset({new_digest(content).hexdigest()})


def file_item(
    found: OpenedItem, reason: str, judge: Judge = whatever, max_bytes: int = MAX_CONTENT_BYTES
) -> GuardedItem:
    """An open file.

    Args:
        judge: says what of its content is; the default: every change.
        max_bytes: of a longer one every change matters.
    """
    content = os.pread(found.descriptor, max_bytes + 1, 0)
    is_whole = len(content) <= max_bytes
    dangers = judge(content) if is_whole else whatever(content) | {_size(found.status.st_size), _whole(found)}
    if found.status.st_nlink > 1:  # what is harmless now can be written by its other name
        dangers |= {_OTHER_NAMES}
    kept = content if len(content) <= MAX_CONTENT_BYTES else None
    return GuardedItem(dangers, reason, kept, stat.S_IMODE(found.status.st_mode))


def content_at(directory: int, name: str, max_bytes: int) -> GuardedItem | None:
    """The file under a name in an open directory, with its content; None if there is no file, or a longer one."""
    with opened(name, directory) as found:
        if not isinstance(found, OpenedItem) or not found.is_file or found.status.st_size > max_bytes:
            return None
        content = os.pread(found.descriptor, max_bytes, 0)
        return GuardedItem(frozenset(), PROTECTED_REASON, content, stat.S_IMODE(found.status.st_mode))


def encoded(item: GuardedItem | None) -> tuple[str, int]:
    """The content of a file for a message, in base64, and its permission bits; empty if it is not known."""
    if item is None or not item.content:
        return "", 0o600
    return binascii.b2a_base64(item.content, newline=False).decode(), item.mode


def names_in(directory: int | None) -> list[str]:
    """What is in an open directory, if there is one.

    Raises:
        OSError: nobody knows what is there.
    """
    if directory is None:
        return []
    try:
        return sorted(os.listdir(directory))
    except OSError as error:
        if error.errno not in NOTHING_THERE:
            raise
    return []
