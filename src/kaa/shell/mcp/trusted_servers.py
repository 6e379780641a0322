"""The servers of a project that the question about trust in it covers: those that need no second question.

They can do no more than read the project, or write it as commands do, and fetch their own package. Whatever gets a
variable of the user's, a host, a file outside of the project or a model, or has no sandbox, is asked about on its own.
"""

import asyncio
import shlex
from collections.abc import Mapping, Sequence

import msgspec

from kaa.ext.permissions import Permissions
from kaa.host.log import LOG
from kaa.shell.mcp.approvals import ApprovalRecordsError, Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.variables import VariableError, variables_in
from kaa.shell.mcp.describing import described_code, in_one_line, variables_set
from kaa.shell.mcp.place import ServerPlace
from kaa.shell.mcp.readable import RightsError, stays_in_project
from kaa.shell.mcp.rights import fetched_unpinned, permissions_of, registry_of
from kaa.shell.mcp.starting import code_to_admit

_MOST = 10
_MOST_LINES_OF_CODE = 20
# The code of a server can be a large folder. The person waits for the question meanwhile.
_MOST_SECONDS = 3.0


class TrustedServer(msgspec.Struct, frozen=True):
    """A server that a yes to the project approves, as it is configured and with the code that it executes now.

    Attributes:
        lines: what it is and may do, for people; the texts are its own.
    """

    server: ConfiguredServer
    code: Mapping[str, str]
    lines: tuple[str, ...]


class TrustedServers:
    """Those of one project.

    Args:
        configured: the servers that are configured for the project.
    """

    def __init__(self, approvals: Approvals, place: ServerPlace, configured: Sequence[ConfiguredServer]) -> None:
        self._approvals = approvals
        self._place = place
        self._configured = configured

    async def find(self) -> tuple[TrustedServer, ...]:
        """Find those that a yes would approve, as far as that can be known soon."""
        found: list[TrustedServer] = []
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                for server in self._configured:
                    if len(found) < _MOST and (one := await asyncio.to_thread(self._examined, server)) is not None:
                        found.append(one)
        except TimeoutError:
            pass  # the others are asked about when they start
        return tuple(found)

    def approve(self, servers: Sequence[TrustedServer]) -> None:
        """Approve servers as they were shown. What cannot be kept is asked about when the server starts."""
        try:
            for one in servers:
                self._approvals.approve(one.server, self._place.project, one.code)
        except ApprovalRecordsError as error:
            LOG.warning("mcp: %s", error)

    def _examined(self, server: ConfiguredServer) -> TrustedServer | None:
        """A server that is not approved and can be covered; None for any other. Blocks."""
        entry = server.entry
        if server.source.scope != "project" or not entry.command or not entry.enabled or not entry.sandbox:
            return None
        if any(map(variables_in, entry.texts)) or self._place.is_full_access():
            return None
        granted = Permissions(project="write", hosts=registry_of(entry.command))
        if permissions_of(entry, self._place.project).beyond(granted) != Permissions():
            return None
        try:
            if self._approvals.is_approved(server):
                return None
            code = code_to_admit(server, self._place)
            if not stays_in_project(server, self._place, code):
                return None
        except (ApprovalRecordsError, RightsError, VariableError, OSError, ValueError):
            return None  # whoever starts it is told
        lines = _lines(server, self._place, code)
        return None if len(lines) > _MOST_LINES_OF_CODE else TrustedServer(server, code, lines)


def _lines(server: ConfiguredServer, place: ServerPlace, code: Mapping[str, str]) -> tuple[str, ...]:
    entry = server.entry
    may = " and ".join(permissions_of(entry, place.project).sentences) or "read no file of yours and connect to nothing"
    command = shlex.join((*variables_set(entry), entry.command, *entry.args))
    where = f" in {entry.cwd}" if entry.cwd else ""
    lines = [f"{server.name} runs{where}: {command}", f"In its own sandbox, it can {may}."]
    if package := fetched_unpinned(entry):
        lines.append(f"It fetches {package} in the newest version each time.")
    if code:
        lines += described_code({}, code)
    return tuple(map(in_one_line, lines))
