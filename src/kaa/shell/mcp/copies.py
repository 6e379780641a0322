"""Private copies of the code that a server executes: commands can change what lies in the project, but not these.

A mount over a single file would not do: a command that replaces the file removes the mount in all sandboxes. So the
copies are directories, in which everything else has an empty place where it is mounted as it is.
"""

import os
import stat
from collections.abc import Iterator, Mapping

from kaa.host.paths import is_below
from kaa.shell.mcp.code import (
    BESIDE,
    FILES,
    FOLDER,
    MAX_BYTES,
    MENTIONED,
    CodeChangedError,
    digest_of,
    link_text,
)
from kaa.shell.mcp.code_files import IGNORED, is_code
from kaa.shell.mcp.imported import can_be_imported
from kaa.shell.mcp.installed import INSTALLED
from kaa.shell.mcp.place import ServerPlace

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_LIVE = 2_000  # each is a mount


class TooManyFilesError(ValueError):
    """Beside the code there is more than can be shown; the message says what to do."""


def copy_code(code: Mapping[str, str], place: ServerPlace, folder: str) -> tuple[tuple[str, str], ...]:
    """Copy code, if it is still what was admitted. Blocks.

    Args:
        code: as `code_of` found it.
        folder: an empty directory that commands cannot write, for the copies.

    Returns:
        What the server is to see, as `SandboxOptions.replaced` takes it.

    Raises:
        CodeChangedError: it is not what was admitted.
        TooManyFilesError: too much else lies in its directories.
        OSError: something cannot be read or copied.
    """
    return tuple(_Copies(code, place, folder).pairs())


class _Copies:
    def __init__(self, code: Mapping[str, str], place: ServerPlace, folder: str) -> None:
        self._code = code
        self._place = place
        self._folder = folder
        self._directories: set[str] = set()  # with code somewhere below
        self._live = 0
        self._shows_rest = True  # of a directory with code; of another project only what the server needs

    def pairs(self) -> Iterator[tuple[str, str]]:
        tops: dict[str, str] = {}
        live = [path for path, digest in self._code.items() if digest == MENTIONED or digest.startswith(INSTALLED)]
        for path, digest in self._code.items():
            if digest == BESIDE or is_below(path, live):  # also the program of an environment, whose links are compared
                continue
            directory = path if digest in (FOLDER, FILES) else os.path.dirname(path)
            top = self._place.whole(directory)
            tops.setdefault(top, os.path.join(self._folder, str(len(tops))))
            while directory not in self._directories and len(directory) >= len(top):
                self._directories.add(directory)
                directory = os.path.dirname(directory)
        for top, copy in tops.items():
            yield top, copy
            self._shows_rest = self._place.can_write_now(top)
            yield from self._copied(None, top, copy, in_tree=False)

    def _copied(self, parent: int | None, directory: str, copy: str, *, in_tree: bool) -> Iterator[tuple[str, str]]:
        """Copy a directory, opened in the one above it: commands can put a link in its place at any time."""
        name = directory if parent is None else os.path.basename(directory)
        try:
            opened = os.open(name, _DIRECTORY, dir_fd=parent)
        except OSError as error:
            raise CodeChangedError(directory) from error
        try:
            yield from self._copied_from(opened, directory, copy, in_tree=in_tree)
        finally:
            os.close(opened)

    def _copied_from(self, opened: int, directory: str, copy: str, *, in_tree: bool) -> Iterator[tuple[str, str]]:
        os.mkdir(copy, stat.S_IMODE(os.fstat(opened).st_mode) | stat.S_IRWXU)
        in_tree = in_tree or self._code.get(directory) == FOLDER
        is_watched = in_tree or self._code.get(directory) == FILES
        with os.scandir(opened) as found:
            entries = list(found)
        for entry in entries:
            path, target = os.path.join(directory, entry.name), os.path.join(copy, entry.name)
            if entry.name in IGNORED:
                continue
            if entry.is_symlink():
                leads_to = os.readlink(entry.name, dir_fd=opened)
                self._expect(path, link_text(leads_to), unless=not is_watched)
                os.symlink(leads_to, target)
            elif path in self._directories or (in_tree and entry.is_dir() and not self._is_live(path)):
                yield from self._copied(opened, path, target, in_tree=in_tree)
            elif entry.is_dir():
                if self._shows_folder(path, is_watched=is_watched):
                    os.mkdir(target)
                    yield self._as_it_is(path)
            elif path in self._code:
                self._copy_file(opened, path, target)
            elif entry.is_file():
                if is_watched and is_code(entry):
                    raise CodeChangedError(path)
                if not is_watched and not self._is_shown(path):
                    continue
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
                yield self._as_it_is(path)

    def _is_live(self, path: str) -> bool:
        """Whether a folder in a tree of code is seen as it is."""
        return self._code.get(path, "").startswith(INSTALLED) or os.path.basename(path) == ".git"

    def _shows_folder(self, path: str, *, is_watched: bool) -> bool:
        """Whether a folder that has no code is seen. One beside code must have nothing that could be loaded."""
        if is_watched and path not in self._code:
            if can_be_imported(path):
                raise CodeChangedError(path)
            return os.path.basename(path) != "node_modules"
        return is_watched or self._is_shown(path)

    def _is_shown(self, path: str) -> bool:
        return self._shows_rest or any(is_below(one, (path,)) for one in self._code)

    def _as_it_is(self, path: str) -> tuple[str, str]:
        self._live += 1
        if self._live > _MAX_LIVE:
            raise TooManyFilesError(
                f"more than {_MAX_LIVE:,} files that are no code lie in the directories of its code, such as {path}."
                " Keep its code in its own directory, or outside of the project"
            )
        return path, path

    def _copy_file(self, directory: int, path: str, target: str) -> None:
        """Copy a file in one read: what is compared is what is copied."""
        with open(os.open(os.path.basename(path), _FILE, dir_fd=directory), "rb") as file:
            content, status = file.read(MAX_BYTES) or b"", os.fstat(file.fileno())
        self._expect(path, digest_of(content))
        with open(target, "xb") as copied:
            copied.write(content)
            copied.flush()
            os.fchmod(copied.fileno(), stat.S_IMODE(status.st_mode))
            os.utime(copied.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))  # which uv, make and tsc compare

    def _expect(self, path: str, digest: str, *, unless: bool = False) -> None:
        known = self._code.get(path)
        if known != digest and not (known is None and unless):
            raise CodeChangedError(path)
