"""Where the path in a call of a file tool really leads: found out before anybody judges the call or is asked."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from kaa.builtin.file_paths import spellings
from kaa.core.messages import Json
from kaa.shell.approvals.places import absolute, path_argument
from kaa.workspace.blocked import Blocked
from kaa.workspace.permitted import Looks, Target, real_path


class Project(Looks, Protocol):
    """Where file tools look."""

    @property
    def root(self) -> str:
        """Where relative paths start."""
        ...


async def find_target(arguments: Mapping[str, Json], project: Project, *, writes: bool) -> Target | None:
    """What a file tool would use if it were called now, None if no path is given; one round trip for what exists.

    What cannot be looked at is taken by its name.

    Args:
        arguments: of the call.
        project: where the tool would look.
        writes: whether the tool may write.
    """
    path = path_argument(arguments)
    if path is None:
        return None
    named = path
    try:
        for named in spellings(path):
            info = await project.stat(named)
            if info is not None:
                return Target(named, info.real_path, writes)
        named = path
        found = await real_path(project, path)
    except OSError:  # hidden, or no permission: whoever uses it is told, and a permit leads nowhere else
        found = None
    return Target(named, found or absolute(named, project.root), writes)


def redirected(target: Target, blocked: Sequence[Blocked]) -> Target:
    """The target of a call that was permitted another one and stopped because it led elsewhere."""
    places = (one.what for one in blocked if one.kind in ("read", "write") and one.what.startswith("/"))
    return msgspec.structs.replace(target, real_path=next(places, target.real_path))
