"""Extensions of a trusted project, as files that kaa can load: copies of exactly what the user trusted.

kaa never executes the files in the project, which commands or a pull can change between the question and the start. The
copy lies in kaa's home under the hash of its content, so a changed extension is another one.
"""

import errno
import fcntl
import io
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from kaa.ext.places import ExtensionId, check_name, kind_of
from kaa.host.regular_files import lock
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.staging import StagedTree
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration

_PREFIX = f"{PROJECT_FOLDER}/extensions/"
_HASH_CHARACTERS = 32
_HIDDEN = ".copying-"
_GROUP_CHARACTERS = 16
_UNUSED_SECONDS = 90 * 24 * 3600
_UNFINISHED_SECONDS = 24 * 3600  # of a kaa that was killed meanwhile
_MOST_OF_ORIGIN = 2  # that stay although nobody uses them: each has up to 64 MiB
_IS_THERE = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)

_held: dict[Path, int] = {}  # open copies that this process may load from


class ProjectCopies(msgspec.Struct, frozen=True):
    """The copies.

    Attributes:
        extensions: which they are, sorted by name.
        notices: why some are left out, in sentences.
    """

    extensions: tuple[ExtensionId, ...] = ()
    notices: tuple[str, ...] = ()


def copies_of(configuration: ProjectConfiguration, home: Home) -> ProjectCopies:
    """Copy the extensions of a project that the user trusts, unless there are copies of this content."""
    found: dict[str, list[ConfigurationFile]] = {}
    for file in configuration.files:
        if file.path.startswith(_PREFIX):
            found.setdefault(file.path.removeprefix(_PREFIX).partition("/")[0], []).append(file)
    copies: list[ExtensionId] = []
    notices: list[str] = []
    for name, files in found.items():
        if name.startswith("."):
            continue
        try:
            check_name(ExtensionId.at(Path(name)).name)
            copy = copy_of(name, files, configuration.root, home)
        except (OSError, ValueError, InstallationError) as error:
            notices.append(f"the project's extension {name!r} is not loaded: {error}")
            continue
        if kind_of(copy) is not None:
            copies.append(ExtensionId.of_project(copy, configuration.root))
    return ProjectCopies(tuple(copies), tuple(notices))


def copy_of(name: str, files: Sequence[ConfigurationFile], origin: str, home: Home) -> Path:
    """The copy of one extension, made now unless there is one; links and devices are left out.

    It stays as long as this process holds it; see `let_go`. Of one origin, the two that were used last stay besides.

    Args:
        files: whose paths begin with that name, or with the folder of a project's extensions.
        origin: the project, or where else it is from.

    Raises:
        OSError: it cannot be written.
        InstallationError: the names of files leave the folder, or a limit is exceeded.
    """
    folder = home.path / "project-extensions"
    group = _digest((os.fsencode(origin), name))[:_GROUP_CHARACTERS]
    target = folder / f"{group}-{_digest((os.fsencode(origin), files))[:_HASH_CHARACTERS]}"
    while not _holds(target):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=_HIDDEN, dir=folder))
        try:
            tree = StagedTree(staging / target.name)
            for file in files:
                if file.kind == "file":
                    tree.write(file.path.removeprefix(_PREFIX), io.BytesIO(file.data), executable=file.executable)
            held = _opened(tree.top)
            try:
                tree.top.rename(target)
                _held[target] = held
            except OSError as error:
                os.close(held)
                if error.errno not in _IS_THERE:  # else another process was faster
                    raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        _remove_unused(folder)
    os.utime(target)
    return target / name


def let_go(copy: Path) -> None:
    """Have a copy removed once it is none of the two of its origin that were used last, and no other kaa holds it."""
    if (held := _held.pop(copy.parent, None)) is not None:
        os.close(held)


def _holds(target: Path) -> bool:
    """Keep others from removing a copy, if it is there."""
    if target in _held:
        return True
    try:
        held = _opened(target)
    except FileNotFoundError:
        return False
    try:
        is_there = os.path.samestat(os.fstat(held), os.stat(target))
    except FileNotFoundError:  # it was removed while this waited
        is_there = False
    if is_there:
        _held[target] = held
    else:
        os.close(held)
    return is_there


def _opened(folder: Path) -> int:
    """Open a copy with a lock that others can share; whoever removes it does not."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        lock(held, fcntl.LOCK_SH)
    except BaseException:
        os.close(held)
        raise
    return held


def _remove_unused(folder: Path) -> None:
    groups: dict[str, list[tuple[float, Path]]] = {}
    for copy in folder.iterdir():
        with suppress(OSError):
            group = copy.name if copy.name.startswith(_HIDDEN) else copy.name.partition("-")[0]
            groups.setdefault(group, []).append((copy.stat().st_mtime, copy))
    now = time.time()
    for copies in groups.values():
        for index, (used, copy) in enumerate(sorted(copies, reverse=True)):
            unused = _UNFINISHED_SECONDS if copy.name.startswith(_HIDDEN) else _UNUSED_SECONDS
            if index >= _MOST_OF_ORIGIN or now - used > unused:
                with suppress(OSError):
                    _remove(copy)


def _remove(copy: Path) -> None:
    """Remove a copy that no process holds.

    Raises:
        OSError: a process does, or it cannot be removed.
    """
    opened = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not lock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB) and time.time() - copy.stat().st_mtime <= _UNUSED_SECONDS:
            return  # nobody knows whether it is used
        away = copy.rename(copy.with_name(f"{_HIDDEN}{os.urandom(8).hex()}"))  # a half of it is never loaded
        shutil.rmtree(away)
    finally:
        os.close(opened)


def _digest(content: object) -> str:
    import hashlib  # lazy: few projects have extensions

    return hashlib.sha256(msgspec.msgpack.encode(content)).hexdigest()
