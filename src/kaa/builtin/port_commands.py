"""Slash commands for ports: open a server of the sandbox on this machine, let commands reach a service, list, close."""

from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.errors import CommandError
from kaa.ext.escalations import Escalation


async def forward(arguments: str, context: CommandContext) -> CommandAction:
    """Open a port of a command on this machine."""
    words = arguments.split()
    if not 1 <= len(words) <= 2 or not all(word.isdecimal() for word in words):
        raise CommandError("give a port: /forward 3000, or /forward 3000 8080 for another port on this machine")
    opened = await context.ports.forward(*map(int, words))
    taken = len(words) == 1 and opened.host_port != opened.sandbox_port
    why = f"; {opened.sandbox_port} is taken on this machine" if taken else ""
    return Reply(f"{opened.url} leads to port {opened.sandbox_port} of the sandbox{why}")


async def allow(arguments: str, context: CommandContext) -> CommandAction:
    """Let commands reach a service of this machine."""
    if not arguments.strip():
        raise CommandError("give a port or the path of a socket: /allow 5432, /allow /var/run/docker.sock")
    name = await context.ports.admit(arguments.strip())
    warning = None if name.isdecimal() else Escalation("socket", name).warning
    return Reply(
        f"commands can reach {_called(name)} until /ports close {name}{f'. Warning: {warning}' if warning else ''}"
    )


async def ports(arguments: str, context: CommandContext) -> CommandAction:
    """List what is open, or close something."""
    match arguments.split():
        case []:
            return Reply(await _list(context))
        case ["close", name]:
            if not await context.ports.close(name):
                raise CommandError(f"{name} is not open: /ports lists what is")
            return Reply(f"closed {name}")
        case _:
            raise CommandError("use /ports to list, or /ports close PORT to close a port or a service")


async def _list(context: CommandContext) -> str:
    report = await context.ports.report()
    opened = {forward.sandbox_port for forward in report.forwards}
    lines = [
        *(f"{forward.url} leads to port {forward.sandbox_port} of the sandbox" for forward in report.forwards),
        *(f"port {port} of the sandbox: /forward {port} opens it" for port in report.listening if port not in opened),
        *(f"commands can reach {_called(name)}" for name in report.admitted),
    ]
    return "\n".join(lines) or "no command listens on a port, and no service of this machine is allowed"


def _called(service: str) -> str:
    return f"localhost:{service} of this machine" if service.isdecimal() else service
