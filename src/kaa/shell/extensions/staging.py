"""Writes the files of an extension or plugin of somebody else: names stay inside the folder, and sizes are limited.

The folders in which installations are prepared are locked: the next one removes what a killed one left behind.
"""

import errno
import fcntl
import os
import posixpath
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from kaa.host.known_projects import planted_link
from kaa.host.paths import trail
from kaa.host.process import files_limited_to
from kaa.host.regular_files import lock, straight
from kaa.shell.extensions.errors import InstallationError

# Of folders in which an installation is prepared or a removal ends; `discover` passes over hidden names.
HIDDEN = ".installing-"
MAX_FILES = 20_000
MAX_BYTES = 512 * 1024 * 1024
FETCHING_SECONDS = 300.0
_MAX_NAME_BYTES = 1024
_PIECE_BYTES = 256 * 1024
# Python would execute a file of `__pycache__` instead of the source that people read.
_LEFT_OUT = frozenset({".git", "__pycache__", ".DS_Store"})
_FRESH_SECONDS: Final = 60  # a folder that has just been made may not be locked yet
_ABANDONED_SECONDS: Final = 24 * 3600  # where there are no locks


def run_fetching(
    words: Sequence[str],
    *,
    name: str,
    environ: Mapping[str, str],
    cwd: Path,
    max_bytes: int,
    too_large: str,
    hint: str,
    given: bytes = b"",
    max_said: int | None = None,
) -> bytes:
    """Run a program that downloads. Returns what it printed.

    Args:
        too_large: the message if it writes a larger one.
        hint: follows what it said if it fails.
        max_said: characters of what it says that a message repeats; None for all.

    Raises:
        InstallationError: it cannot be started, fails, or takes too long.
    """
    try:
        done = subprocess.run(
            words,
            env=environ,
            cwd=cwd,
            input=given,
            capture_output=True,
            timeout=FETCHING_SECONDS,
            check=False,
            preexec_fn=files_limited_to(max_bytes),
        )
    except subprocess.TimeoutExpired as error:
        raise InstallationError(f"{name} did not finish in {FETCHING_SECONDS:.0f} seconds: try again") from error
    except OSError as error:
        raise InstallationError(f"{name} cannot be started ({error.strerror})") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[:max_said]
        if "EFBIG" in said or os.strerror(errno.EFBIG) in said:
            raise InstallationError(too_large)
        failed = f"{name} failed: {said or f'exit code {done.returncode}'}"
        raise InstallationError(". ".join(filter(None, (failed, hint))))
    return done.stdout


class StagedTree:
    """The files of one extension, in a new folder.

    Args:
        top: the folder; it must not exist.
    """

    def __init__(self, top: Path, noun: str = "extension") -> None:
        top.mkdir(mode=0o700)
        self.top = top
        self._noun = noun
        self._files = 0
        self._bytes = 0
        self._links: dict[str, str] = {}

    def write(self, name: str, content: IO[bytes], *, executable: bool = False) -> None:
        """Add a file, unless Python compiled it or it is git's.

        Args:
            name: relative, with slashes.

        Raises:
            InstallationError: the name leaves the folder, it is there already, or a limit is exceeded.
        """
        path = self._path(name)
        if not _LEFT_OUT.isdisjoint(name.split("/")):
            return
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("xb") as file:
                while piece := content.read(_PIECE_BYTES):
                    self._bytes += len(piece)
                    if self._bytes > MAX_BYTES:
                        raise InstallationError(f"the {self._noun} is larger than {MAX_BYTES // 1024 // 1024} MiB")
                    file.write(piece)
        except (FileExistsError, NotADirectoryError) as error:
            raise InstallationError(f"the {self._noun} contains {name!r} twice") from error
        path.chmod(0o700 if executable else 0o600)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link; `finish` creates it.

        Raises:
            InstallationError: it leads out of the folder, or a limit is exceeded.
        """
        self._path(name)
        leads_to = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        if posixpath.isabs(target) or leads_to == ".." or leads_to.startswith("../"):
            raise InstallationError(f"the link {name!r} leads out of the {self._noun}, to {target!r}")
        self._links[name] = target

    def finish(self) -> None:
        """Create the links, after all files, so that no file is written through one.

        Raises:
            InstallationError: one has the name of a file, or leads out of the folder through another one.
        """
        for name, target in self._links.items():
            path = self.top / name
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.symlink_to(target)
            except (FileExistsError, NotADirectoryError) as error:
                raise InstallationError(f"the {self._noun} contains {name!r} twice") from error
        top = os.path.realpath(self.top)
        for name, target in self._links.items():
            if not os.path.realpath(self.top / name).startswith(f"{top}/"):
                raise InstallationError(f"the link {name!r} leads out of the {self._noun}, to {target!r}")

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if not name or "\0" in name or "\\" in name or len(os.fsencode(name)) > _MAX_NAME_BYTES:
            raise InstallationError(f"invalid file name {name!r} in the {self._noun}")
        if any(part in ("", ".", "..") for part in parts):
            raise InstallationError(f"the file name {name!r} leads out of the {self._noun}")
        self._files += 1
        if self._files > MAX_FILES:
            raise InstallationError(f"the {self._noun} has more than {MAX_FILES:,} files")
        return self.top.joinpath(*parts)


def copy_folder(source: Path, tree: StagedTree) -> None:
    """Copy a folder, without `.git` and what Python compiled.

    Raises:
        InstallationError: a command could have made a link to it; something in it is neither file, folder nor link,
            cannot be read, or exceeds a limit.
        OSError: it cannot be read, or a command exchanges folders in it for links.
    """
    for name, path in _entries(_real(source)):
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            tree.link(name, os.readlink(path))
        elif stat.S_ISREG(mode):
            with open(path, "rb", opener=straight) as content:
                tree.write(name, content, executable=bool(mode & 0o100))
        else:
            raise InstallationError(f"{path} is neither a file, a folder nor a link: remove it")
    tree.finish()


def copy_file(source: Path, target: Path) -> None:
    """Copy an extension of one file.

    Raises:
        InstallationError: a command could have made a link to it.
        OSError: it cannot be read.
    """
    with open(_real(source), "rb", opener=straight) as content, target.open("xb") as file:
        shutil.copyfileobj(content, file)
    target.chmod(0o600)


def _real(source: Path) -> Path:
    *links, real = trail(os.path.join(os.getcwd(), source))
    if planted := planted_link(links, real, os.environ, added=True):
        raise InstallationError(
            f"{source}: a command of the model could have made the link {planted[0]}. If you mean {real}, name that"
        )
    return Path(real)


def _entries(source: Path, above: str = "") -> Iterator[tuple[str, str]]:
    """Everything in a folder but folders, by its relative name."""
    with os.scandir(source) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name in _LEFT_OUT:
            continue
        name = f"{above}{entry.name}"
        if len(os.fsencode(name)) > _MAX_NAME_BYTES:
            raise InstallationError(f"{name[:80]!r}… has a longer path than {_MAX_NAME_BYTES} bytes")
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(Path(entry.path), f"{name}/")
        else:
            yield name, entry.path


@contextmanager
def preparation_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder, locked while it is used and removed at the end.

    Args:
        parent: the folder that it is in; it exists.
        prefix: of its name, by which others of its kind are found.

    Raises:
        OSError: it cannot be made.
    """
    _remove_abandoned(parent, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # another installation has just ended
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody uses a folder.

    Raises:
        OSError: it is gone, or no folder.
    """
    age = time.time() - folder.lstat().st_mtime
    if age < _FRESH_SECONDS:
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) or age > _ABANDONED_SECONDS
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
