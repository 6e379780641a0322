"""The slash command `/mcp`: the servers for people."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from kaa.builtin.amounts import counted
from kaa.builtin.mcp.host import McpHost, ServerView
from kaa.builtin.mcp.tools import failure
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply, Suggestion
from kaa.ext.asking import confirm
from kaa.ext.errors import CommandError
from kaa.mcp.errors import McpError

_USAGE: Final = "/mcp, /mcp connect SERVER, /mcp login SERVER, /mcp log SERVER, /mcp changes SERVER"
_LINE_CHARACTERS: Final = 160


class McpCommand:
    """What `/mcp` does."""

    def __init__(self, host: McpHost) -> None:
        self._host = host
        self._actions: dict[str, Callable[[str, CommandContext], Awaitable[str]]] = {
            "connect": self._connect,
            "login": self._log_in,
            "log": self._log,
            "changes": self._changes,
        }

    def register(self, api: ExtensionAPI) -> None:
        api.register_command(
            "mcp",
            "Show MCP servers; connect or log in to one, show its log or what it changed",
            self._run,
            argument_hint="[connect|login|log|changes SERVER]",
            complete=self._complete,
            while_running=True,
        )

    async def _run(self, arguments: str, context: CommandContext) -> CommandAction:
        match arguments.split():
            case []:
                return Reply(self._status())
            case [word, server] if word in self._actions:
                self._view(server)
                try:
                    return Reply(await self._actions[word](server, context))
                except McpError as error:
                    raise CommandError(failure(server, error)) from error
            case _:
                raise CommandError(f"invalid arguments {arguments.strip()!r}: write {_USAGE}")

    def _status(self) -> str:
        views = self._host.servers()
        if not views:
            return (
                "No MCP server is configured. `kaa mcp add NAME -- COMMAND` or `kaa mcp add NAME URL` in a shell adds"
                " one, for the next session (/new)."
            )
        return "\n".join(line for view in views for line in _described(view))

    async def _connect(self, server: str, context: CommandContext) -> str:
        session = await self._host.session(server, context.asker, renewed=True)
        info, tools = session.manifest.server, len(session.manifest.tools)
        program = f" to {info.title or info.name} {info.version}".rstrip() if info.name else ""
        return f"Connected{program} (MCP {session.manifest.protocol}, {counted(tools, 'tool')})."

    async def _log_in(self, server: str, context: CommandContext) -> str:
        await self._host.log_in(server, context.asker)
        return f"Logged in to {server}."

    async def _log(self, server: str, _context: CommandContext) -> str:
        return "\n".join(self._host.log(server)) or f"{server} has logged nothing since kaa started."

    async def _changes(self, server: str, context: CommandContext) -> str:
        changes = self._host.changes(server)
        if not changes:
            return f"{server} has changed no tool since you accepted its tools."
        shown = "\n\n".join(f"{tool}:\n{difference}" for tool, difference in changes.items())
        if not context.asker.can_ask:
            return shown
        question = f"Accept the changed tools of MCP server {server}?"
        if not await confirm(context.asker, question, shown, only_person=True):
            return f"{counted(len(changes), 'tool')} of {server} stay held back."
        self._host.accept(server, changes)
        return f"Accepted: {', '.join(changes)}."

    def _view(self, server: str) -> ServerView:
        views = {view.name: view for view in self._host.servers()}
        if server not in views:
            raise CommandError(f"no MCP server is named {server!r}. Servers: {', '.join(views) or 'none'}")
        return views[server]

    def _complete(self, typed: str, _context: CommandContext) -> Sequence[Suggestion]:
        word, space, start = typed.partition(" ")
        if not space:
            return [Suggestion(f"{action} ") for action in self._actions if action.startswith(word)]
        found = [view for view in self._host.servers() if view.name.startswith(start)]
        return [Suggestion(f"{word} {view.name}", view.state) for view in found] if word in self._actions else []


def _described(view: ServerView) -> list[str]:
    """A server in a line or a few."""
    offers = []
    if (manifest := view.manifest) is not None:
        kinds = ((manifest.tools, "tool"), (manifest.prompts, "prompt"), (manifest.resources, "resource"))
        offers = [counted(len(items), kind) for items, kind in kinds if items]
    about = [f"{view.name}: {', '.join([view.state, *offers])} ({view.source})"]
    about += [f"  {view.description[:_LINE_CHARACTERS]}"] if view.description else []
    about += [f"  {view.reason}"] if view.reason else []
    about += [f"  /mcp connect {view.name} asks you"] if view.state == "not approved" else []
    about += [f"  held back: {', '.join(view.held)}. /mcp changes {view.name} shows why"] if view.held else []
    return about
