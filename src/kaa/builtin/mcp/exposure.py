"""How the tools of servers reach the model: in every request, when it searches, or through the gateway alone.

Decided once per conversation, before its first request: what a request begins with stays the same, so that servers of
models keep it. A server that is learned later is found by a search.
"""

from fnmatch import fnmatchcase
from itertools import accumulate

from kaa.builtin.mcp import host as seam
from kaa.builtin.mcp.host import McpHost, ServerView
from kaa.builtin.mcp.names import GATEWAY
from kaa.builtin.mcp.tools import McpTools, usable
from kaa.builtin.tools import CALL_TOOLS
from kaa.core.provider import TOOL_SEARCH
from kaa.core.usage import size_of_schema
from kaa.ext.context import ConversationContext
from kaa.ext.tools import Exposure

# Of the window of the model, what the definitions of servers' tools may take in every request; and whatever the window
# is: three times what kaa sends itself.
_MOST_SHARE = 0.1
_MOST_TOKENS = 2_000


def chosen(view: ServerView, tool: str) -> seam.Exposure:
    """What the configuration says of a tool: the first pattern that matches its name, or what holds for the server."""
    fitting = (exposure for pattern, exposure in view.tool_exposure.items() if fnmatchcase(tool, pattern))
    return next(fitting, view.exposure)


def registered(view: ServerView, tool: str) -> Exposure | None:
    """Who can call a tool; None for nobody.

    Tools that the gateway alone reaches are `deferred`, and never `hidden`: nobody judges calls of hidden tools.
    """
    match chosen(view, tool):
        case "direct":
            return "default"
        case "hidden":
            return None
        case "auto" | "deferred" | "gateway":
            return "deferred"


def choose_tools(host: McpHost, tools: McpTools, context: ConversationContext) -> None:
    """Give a conversation that begins the tools that are exposed automatically, if they are few, or else the search.

    A conversation whose model has no gateway, because the user chose its tools, gets neither, nor does one whose model
    writes programs, which find and call them.
    """
    deferred = context.deferred_tools
    active = context.active_tools
    if GATEWAY not in active or CALL_TOOLS in active:
        return
    views = usable(host)
    automatic = [
        tool
        for view in views
        for own, tool in tools.of_server(view.name).items()
        if chosen(view, own) == "auto" and tool.name in deferred and own not in view.held
    ]
    most = min(_MOST_SHARE * context.models.current.model.context_window, _MOST_TOKENS)
    sizes = accumulate(size_of_schema(tool.tool.schema) for tool in automatic)
    fits = all(size <= most for size in sizes)  # ends at the first that does not: servers may have 2,000 tools
    for tool in automatic if fits else ():
        context.activate_tool(tool.name)
    if TOOL_SEARCH in deferred and (not fits or any(map(_may_defer, views))):
        context.activate_tool(TOOL_SEARCH)


def _may_defer(view: ServerView) -> bool:
    """Whether a server has tools to search for, apart from those that are exposed automatically and known."""
    is_unknown = view.manifest is None and view.exposure == "auto"
    return is_unknown or "deferred" in (view.exposure, *view.tool_exposure.values())
