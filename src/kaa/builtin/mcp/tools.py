"""Tools of servers as the model calls them. They are made from manifests; a server starts when one is called."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from kaa.builtin.mcp.host import McpHost, ServerView
from kaa.builtin.mcp.names import tool_names, tool_prefix
from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import ToolError, ToolResult
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.tools import Exposure, RegisteredTool, ToolServer
from kaa.mcp.errors import LoginNeededError, McpError
from kaa.mcp.manifest import ToolInfo


class McpTool:
    """A tool of a server.

    Attributes:
        info: the tool as the server lists it.
    """

    sequential = False

    def __init__(self, host: McpHost, server: str, info: ToolInfo, name: str) -> None:
        self._host = host
        self.server = server
        self.info = info
        self.schema = ToolSchema(name, info.description or info.title, {"type": "object", **info.input_schema})

    async def run(self, arguments: dict[str, Json], context: ToolContext) -> ToolResult:
        """Start the server if necessary, and call it."""
        from kaa.builtin.mcp.progress import ProgressLines  # lazy: few of many tools are called
        from kaa.builtin.mcp.questions import ConversationQuestions
        from kaa.builtin.mcp.results import tool_result, with_notes

        view = view_of(self._host, self.server)
        if self.info.name in view.held:
            raise ToolError(view.held[self.info.name])
        questions = ConversationQuestions(view, context, f"tool {self.info.name}")
        try:
            session = await self._host.session(self.server, context.asker, context.update)
            result = await session.call(
                self.info.name,
                arguments,
                questions=questions,
                progress=ProgressLines(context.update).show,
                patience=view.patience,
            )
        except McpError as error:
            self._host.tell_of_login(self.server)
            raise ToolError("\n".join([failure(self.server, error), *questions.refusals])) from error
        made = await tool_result(self.server, result, context.workspace, self.info.output_schema)
        return with_notes(made, questions.refusals)


class McpTools:
    """The tools of all servers, as they are at the moment. What has not changed stays the same object."""

    def __init__(self, host: McpHost) -> None:
        self._host = host
        self._known: dict[str, RegisteredTool] = {}
        self._of_servers: dict[str, dict[str, RegisteredTool]] = {}
        self._views: list[ServerView] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools, as the model calls them."""
        return tuple(self._known)

    def renew(self, exposures: Callable[[ServerView, str], Exposure | None]) -> list[RegisteredTool] | None:
        """All tools that the servers offer now: servers in the order of configuration, their tools by name.

        None if they are those of the last time: most changes of a server are that it starts, is used and rests.

        Args:
            exposures: who can call a tool of a server; None for nobody.
        """
        views = [replace(view, state="known", reason="") for view in usable(self._host)]
        if views == self._views:
            return None
        self._views = views
        offered = [(view, info) for view in views for info in sorted(_listed(view), key=lambda info: info.name)]
        names = tool_names((view.name, info.name) for view, info in offered)
        servers = {view.name: ToolServer(view.name, view.host, _rule(view, views)) for view in views}
        renewed: dict[str, RegisteredTool] = {}
        self._of_servers = {view.name: {} for view in views}
        for view, info in offered:
            if (exposure := exposures(view, info.name)) is not None:
                name = names[(view.name, info.name)]
                renewed[name] = self._registered(view, info, name, exposure, servers[view.name])
                self._of_servers[view.name][info.name] = renewed[name]
        self._known = renewed
        return list(renewed.values())

    def server_of(self, name: str) -> str | None:
        """The server of a tool, by its name for the model; None if it is of none."""
        registered = self._known.get(name)
        return registered.tool.server if registered is not None and isinstance(registered.tool, McpTool) else None

    def of_server(self, server: str) -> dict[str, RegisteredTool]:
        """The registered tools of a server, by the names that the server gives them."""
        return self._of_servers.get(server, {})

    def _registered(
        self, view: ServerView, info: ToolInfo, name: str, exposure: Exposure, server: ToolServer
    ) -> RegisteredTool:
        if info.name in view.held:  # what a server changed is not shown before the user has seen it
            info = ToolInfo(info.name, description="Held back until the user approves its change.")
        risk = "read" if info.name in view.held else view.risks.get(info.name, "outside")
        before = self._known.get(name)
        same = before is not None and isinstance(before.tool, McpTool) and before.tool.info == info
        tool = before.tool if before is not None and same else McpTool(self._host, view.name, info, name)
        return RegisteredTool(tool, "", exposure, risk=risk, output_schema=info.output_schema, server=server)


def hindrance_to_start(view: ServerView, context: ConversationContext) -> str:
    """Why the model may not start a server in the conversation as it is; empty if it may."""
    if not view.may_write or view.state in ("started", "in use"):
        return ""
    if (mode := context.approval_mode) in ("plan", "read-only"):
        why = f"the mode of approvals is {mode}"
    elif context.workspace.is_narrowed:
        why = "this agent has fewer rights than its conversation"
    else:
        return ""
    return f"MCP server {view.name} is not started: it may write, and {why}. The user can start it with /mcp connect"


def usable(host: McpHost) -> list[ServerView]:
    """The servers whose tools can be called, if need be after a question."""
    return [view for view in host.servers() if view.state not in ("disabled", "not approved")]


def view_of(host: McpHost, server: str) -> ServerView:
    """The server of this name. One that is no longer configured has failed."""
    return next((view for view in host.servers() if view.name == server), ServerView(server, "failed"))


def failure(server: str, error: McpError) -> str:
    """Why a server did not do what was asked, for the model."""
    text = str(error)
    named = text if f"MCP server {server}" in text else f"MCP server {server}: {text}"
    hint = f' Call mcp with action "auth" and server "{server}".' if isinstance(error, LoginNeededError) else ""
    return f"{named}{hint}"


def _rule(view: ServerView, views: Iterable[ServerView]) -> str:
    """The rule for all tools of a server; empty if it would be about those of another one, too (`a_b`, `a__b`)."""
    prefix = tool_prefix(view.name)
    is_shared = any(tool_prefix(other.name) == prefix for other in views if other.name != view.name)
    return "" if is_shared else f"{prefix}*"


def _listed(view: ServerView) -> Iterable[ToolInfo]:
    return () if view.manifest is None else view.manifest.tools
