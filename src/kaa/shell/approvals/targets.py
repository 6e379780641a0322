"""Where the path in a call of a file tool really leads: found out before anybody judges the call or is asked."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from kaa.builtin.file_paths import spellings
from kaa.core.messages import Json
from kaa.shell.approvals.places import absolute, path_argument
from kaa.workspace.blocked import Blocked
from kaa.workspace.permitted import PathLookup, Target, real_path


class Project(PathLookup, Protocol):
    """Where file tools look."""

    @property
    def root(self) -> str:
        """Where relative paths start."""


async def find_target(arguments: Mapping[str, Json], project: Project, *, writes: bool) -> Target | None:
    """What a file tool would use if it were called now, None if no path is given; one round trip for what exists.

    Of what is hidden only the visible beginning is followed. Where that is not all, a permit leads nowhere and says so.

    Args:
        writes: whether the tool may write.
    """
    path = path_argument(arguments)
    if path is None:
        return None
    name = path
    for spelling in spellings(path):
        try:
            info = await project.stat(spelling)
        except OSError:  # where the tool will stop, too
            name = spelling
            break
        if info is not None:
            return Target(spelling, info.real_path, writes)
    return Target(name, await real_path(project, name) or absolute(name, project.root), writes)


def redirected(target: Target, blocked: Sequence[Blocked]) -> Target:
    """The target of a call that was permitted another one and stopped because it led elsewhere."""
    places = (one.what for one in blocked if one.kind in ("read", "write") and one.what.startswith("/"))
    return msgspec.structs.replace(target, real_path=next(places, target.real_path))
