"""The settings of approvals and the sandbox that a conversation can change at once: the values in force."""

import os.path
from collections.abc import Mapping
from typing import Final, get_args

from kaa.core.messages import Json
from kaa.ext.errors import CommandError
from kaa.host.paths import is_below
from kaa.shell.containment import Containment
from kaa.shell.gatekeeper import Gatekeeper
from kaa.shell.permissions import ConversationPermissions
from kaa.workspace.network.allow_list import NetworkRuleError, NetworkState
from kaa.workspace.sandbox.options import ConfinedMode, PortsMode, SandboxChange

_NEXT_START: Final = "takes effect at the next start"


class SessionValues:
    def __init__(
        self, permissions: ConversationPermissions, gate: Gatekeeper, containment: Containment, root: str
    ) -> None:
        self._permissions = permissions
        self._gate = gate
        self._containment = containment
        self._root = root

    def known(self) -> Mapping[str, Json]:
        """The values in force by their keys; where nothing confines, only that of approvals."""
        known: dict[str, Json] = {"approvals.policy": self._gate.policy}
        chosen = self._containment.choices
        if chosen.mode == "full-access" or not self._containment.confined:
            return known
        return {
            **known,
            "sandbox.mode": chosen.mode,
            "sandbox.network": self._containment.network,
            "sandbox.writable": list(chosen.writable),
            "sandbox.git": chosen.git_writable,
            "sandbox.ports": chosen.ports,
        }

    def is_configured(self, key: str, configured: Json) -> bool:
        """Whether the value in force is that of the settings.

        Args:
            key: one of `known`.
        """
        current = self.known()[key]
        match key, configured:
            case "approvals.policy", _:
                return bool(self._gate.choice == configured)
            case "sandbox.network", str() | list():
                try:
                    return bool(str(NetworkState.parse(_network(configured))) == current)
                except NetworkRuleError:
                    return False
            case "sandbox.writable", list() if isinstance(current, list):
                return set(map(self._real, configured)) == set(map(self._real, current))
            case _:
                return bool(current == configured)

    async def put_in_force(self, key: str, value: Json, *, is_configured: bool) -> str:
        """Let a value hold from the next call on. Returns what that did, in a line.

        Args:
            is_configured: it is that of the settings; else it is kept with the session.

        Raises:
            CommandError: it cannot hold before the next start.
        """
        if key not in self.known():
            raise CommandError(f"{key} {_NEXT_START}")
        told = await self._apply(key, value)
        if is_configured:
            self._permissions.begin_with("approvals" if key == "approvals.policy" else key.removeprefix("sandbox."))
        self._permissions.keep()
        return told

    async def _apply(self, key: str, value: Json) -> str:
        match key, value:
            case "approvals.policy", str():
                return f"approvals now: {await self._permissions.choose(value)}"
            case "sandbox.network", str() | list():
                return f"network now: {self._containment.set_network(_network(value), named=True)}"
            case "sandbox.writable", list():
                return await self._write(list(map(str, value)))
            case "sandbox.mode", str() if value in get_args(ConfinedMode):
                await self._permissions.change(
                    SandboxChange(mode="read-only" if value == "read-only" else "workspace-write")
                )
            case "sandbox.git", bool():
                await self._permissions.change(SandboxChange(git_writable=value))
            case "sandbox.ports", str() if value in get_args(PortsMode):
                await self._permissions.change(SandboxChange(ports="open" if value == "open" else "closed"))
            case _:
                raise CommandError(f"{key} {_NEXT_START}")
        return f"{key} is in force from the next call on"

    async def _write(self, paths: list[str]) -> str:
        before = self._permissions.directories
        wanted = {self._real(path) for path in paths}
        told = [await self._permissions.add_directory(path) for path in paths]
        lost = [path for path in before[1:] if not is_below(self._real(path), wanted)]
        told += [f"{path} stays writable until the session ends" for path in lost]
        return "\n".join(told) or "no directory besides the project can be written"

    def _real(self, path: Json) -> str:
        return os.path.realpath(os.path.join(self._root, os.path.expanduser(str(path))))


def _network(value: Json) -> str:
    """As `--net` takes it."""
    return ",".join(map(str, value)) or "off" if isinstance(value, list) else str(value)
