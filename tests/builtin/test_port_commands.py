"""The slash commands for ports and services."""

import asyncio
from typing import cast

import pytest

from kaa.builtin import port_commands
from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.commands import CommandHandler
from kaa.ext.errors import CommandError
from kaa.workspace.network.forwarding import Forward
from kaa.workspace.network.ports import PortsReport


class Ports:
    """One server at 3000, whose number is taken on the machine."""

    def __init__(self) -> None:
        self.forwards: list[Forward] = []
        self.admitted: list[str] = []

    async def report(self) -> PortsReport:
        return PortsReport((3000, 8000), tuple(self.forwards), tuple(self.admitted))

    async def forward(self, port: int, host_port: int | None = None) -> Forward:
        self.forwards.append(Forward(port, host_port or 40000))
        return self.forwards[-1]

    async def admit(self, service: str) -> str:
        self.admitted.append(service)
        return service

    async def close(self, name: str) -> bool:
        return name == "3000"


class Context:
    def __init__(self) -> None:
        self.ports = Ports()


def told(command: CommandHandler, arguments: str, context: Context) -> str:
    async def run() -> CommandAction | str | None:
        return await command(arguments, cast("CommandContext", context))

    reply = asyncio.run(run())
    assert isinstance(reply, Reply)
    return reply.text


def test_forward_says_which_port_is_used() -> None:
    context = Context()

    assert told(port_commands.forward, "3000", context) == (
        "http://127.0.0.1:40000 leads to port 3000 of the sandbox; 3000 is taken on this machine"
    )
    assert (
        told(port_commands.forward, "3000 9000", context) == "http://127.0.0.1:9000 leads to port 3000 of the sandbox"
    )


def test_allow_warns_about_sockets() -> None:
    context = Context()

    assert told(port_commands.allow, "5432", context) == (
        "commands can reach localhost:5432 of this machine until /ports close 5432"
    )
    assert "as root" in told(port_commands.allow, "/run/docker.sock", context)
    assert "acts with your rights" in told(port_commands.allow, "/run/agent.sock", context)


def test_ports_lists_and_closes() -> None:
    context = Context()
    told(port_commands.forward, "3000", context)
    told(port_commands.allow, "5432", context)

    assert told(port_commands.ports, "", context).splitlines() == [
        "http://127.0.0.1:40000 leads to port 3000 of the sandbox",
        "port 8000 of the sandbox: /forward 8000 opens it",
        "commands can reach localhost:5432 of this machine",
    ]
    assert told(port_commands.ports, "close 3000", context) == "closed 3000"


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (port_commands.forward, ""),
        (port_commands.forward, "x"),
        (port_commands.allow, " "),
        (port_commands.ports, "close 1"),
        (port_commands.ports, "open 3000"),
    ],
)
def test_a_mistake_is_explained(command: CommandHandler, arguments: str) -> None:
    with pytest.raises(CommandError):
        told(command, arguments, Context())
