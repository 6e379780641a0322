"""Mounts for one command that leaves the sandbox: links in what commands can write lead nowhere, whoever makes them.

Whoever judged the command saw names; a background process can exchange a file for a link between that and its use.

ssh, in the user namespace of an ordinary user, where files of root belong to nobody, refuses files that another one
includes unless they belong to its user or to root (`read_config_file_depth` in readconf.c of OpenSSH): those in
/etc/ssh/ssh_config.d, which most distributions fill. So it gets its configuration as its user's.
"""

import errno
import glob
import os
import shlex
import sys
from collections.abc import Iterator, Sequence

from kaa.hands.confinement import mounts, namespaces, repositories
from kaa.hands.confinement.contract import ConfinementError

_REASON = (
    "this system cannot keep links in the project from leading a program out of it (Linux 5.14 with user namespaces"
    " can), so the command does not run outside the sandbox"
)
_OF_SYSTEM = "/etc/ssh/ssh_config"
_MAX_DEPTH = 16  # READCONF_MAX_DEPTH there
_MAX_BYTES = 1024 * 1024
_PLACE = "/tmp"  # noqa: S108 - for a moment, and only for this process


def refuse_links(directories: Sequence[str], *, needed: bool) -> None:
    """Follow no link in these directories from now on, in this process and those that it starts.

    Nor in git directories elsewhere that their repositories use, such as the common one of a worktree.

    Args:
        directories: absolute, without links.
        needed: whether it is an error if that is impossible. Otherwise it is done only where no user namespace is
            needed: in one, programs that set their user id, such as those of snaps, do not work.

    Raises:
        OSError: the kernel refused, and it is needed.
    """
    try:
        if sys.platform != "linux":
            raise ConfinementError("only Linux has mounts for one process")
        try:
            namespaces.leave_mounts()
        except PermissionError:
            if not needed:
                return
            namespaces.leave_mounts_as_user()
            mounts.follow()
            own_included_files()
        else:
            mounts.follow()
        of_git = [place for path in directories for found in repositories.find(path) for place in found.directories]
        for directory in dict.fromkeys((*directories, *of_git)):
            if directory == "/":
                raise OSError(errno.EINVAL, "all programs are behind links")
            mounts.refuse_links(directory)
    except (OSError, ConfinementError) as error:
        if needed:
            raise OSError(errno.EPERM, _REASON) from error


def own_included_files(configuration: str = _OF_SYSTEM) -> None:
    """Put copies that belong to this process in the place of the files that a configuration includes.

    Needs a mount namespace of its own and the right to mount in it.

    Raises:
        OSError: the kernel refused.
    """
    foreign = [path for path in included_files(configuration) if os.stat(path).st_uid not in (0, os.geteuid())]
    if not foreign:
        return
    mounts.tmpfs(_PLACE, 0o700)
    try:
        for number, path in enumerate(foreign):
            _cover_with_copy(path, os.path.join(_PLACE, str(number)))
    finally:
        mounts.uncover_name(_PLACE)


def included_files(configuration: str, depth: int = 0) -> list[str]:
    """Return the files that a configuration includes, and those that these include, where they really are."""
    found: dict[str, None] = {}
    for pattern in _patterns(configuration) if depth < _MAX_DEPTH else ():
        for path in glob.glob(os.path.join(os.path.dirname(_OF_SYSTEM), pattern)):
            real = os.path.realpath(path)
            if os.path.isfile(real) and os.access(real, os.R_OK):
                found.update(dict.fromkeys((real, *included_files(real, depth + 1))))
    return list(found)


def _patterns(configuration: str) -> Iterator[str]:
    try:
        with open(configuration, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(_MAX_BYTES).splitlines()
    except OSError:
        return
    for line in lines:
        keyword, _, rest = line.strip().replace("=", " ", 1).partition(" ")
        if keyword.casefold() == "include":
            try:
                yield from shlex.split(rest, comments=True)
            except ValueError:  # ssh does not accept it either
                continue


def _cover_with_copy(path: str, copy: str) -> None:
    with open(path, "rb") as source:
        content = source.read(_MAX_BYTES)
    descriptor = os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
        mounts.bind(descriptor, path)
    finally:
        os.close(descriptor)
