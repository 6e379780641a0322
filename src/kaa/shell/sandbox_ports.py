"""Ports and services between a conversation's sandbox and the user's machine, for slash commands and the gate."""

from typing import TYPE_CHECKING

from kaa.ext.errors import CommandError
from kaa.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from kaa.workspace.network.forwarding import Forward
    from kaa.workspace.network.ports import PortsReport


class ContainedPorts:
    """Those of a workspace on this machine. Its modules are loaded when they are needed: few conversations do."""

    def __init__(self, workspace: LocalWorkspace) -> None:
        self._sandbox = workspace.sandbox

    async def report(self) -> "PortsReport":
        return await self._sandbox.ports.report()

    async def forward(self, port: int, host_port: int | None = None) -> "Forward":
        from kaa.workspace.network.forwarding import ForwardError  # lazy, as above

        try:
            return await self._sandbox.ports.forwards.open(port, host_port)
        except (ForwardError, OSError) as error:
            raise CommandError(str(error)) from error

    async def admit(self, service: str) -> str:
        from kaa.workspace.network.host_services import ServiceError  # lazy, as above

        try:
            return await self._sandbox.admit(service)
        except (ServiceError, OSError) as error:
            raise CommandError(str(error)) from error

    async def close(self, name: str) -> bool:
        return await self._sandbox.ports.close(name)


class NoPorts:
    """Of a workspace that touches no machine."""

    async def report(self) -> "PortsReport":
        from kaa.workspace.network.ports import PortsReport  # lazy, as above

        return PortsReport((), (), ())

    async def forward(self, port: int, host_port: int | None = None) -> "Forward":
        raise CommandError(f"this workspace has no ports; {port} cannot be forwarded to {host_port or port}")

    async def admit(self, service: str) -> str:
        raise CommandError(f"this workspace runs no commands that could reach {service}")

    async def close(self, name: str) -> bool:
        return False
