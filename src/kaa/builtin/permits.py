"""What a permit is to the built-in tools: the workspace a call may use instead of the confined one.

Both are of the same project and share their background processes.
"""

from typing import cast

from kaa.core.tool import ToolRun
from kaa.workspace.protocol import Workspace


def workspace_for(run: ToolRun, confined: Workspace) -> Workspace:
    """The workspace that a call may use.

    Args:
        run: the call.
        confined: the one that every call may use.
    """
    if run.permit is None:
        return confined
    return cast("Workspace", run.permit.grant)  # whoever gives permits to built-in tools grants nothing else
