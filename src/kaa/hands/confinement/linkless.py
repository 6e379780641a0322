"""Mounts for one command that leaves the sandbox: links in what commands can write lead nowhere, whoever makes them.

Whoever judged the command saw names; a background process can exchange a file for a link between that and its use.
"""

import errno
import sys
from collections.abc import Sequence

from kaa.hands.confinement import mounts, namespaces, repositories, ssh_configuration
from kaa.hands.confinement.contract import ConfinementError

_REASON = (
    "this system cannot keep links in the project from leading a program out of it (Linux 5.14 with user namespaces"
    " can), so the command does not run outside the sandbox"
)


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
            ssh_configuration.own_included_files()
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
