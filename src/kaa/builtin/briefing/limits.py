"""Says once when half of a limit is used, and once at 80 %, with the result of a tool: nothing before it changes."""

import msgspec

from kaa.core.budget import LimitUsage
from kaa.core.messages import TextContent
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext

_SHARES = (0.8, 0.5)


class _Told(msgspec.Struct):
    """The share of each limit that each model knows to be used; a limit that was raised is another one."""

    shares: dict[tuple[str, str, str, float], float] = {}


def told(result: ToolResult, context: ConversationContext) -> ToolResult | None:
    """The result with a line for each limit of which the model does not know yet how much is used; None for none."""
    state = context.state(_Told, _Told)
    lines = [line for standing in context.limits if (line := _line(context.caller, standing, state.shares))]
    if not lines:
        return None
    return msgspec.structs.replace(result, content=(*result.content, TextContent("\n".join(lines))))


def _line(caller: str, standing: LimitUsage, known: dict[tuple[str, str, str, float], float]) -> str:
    key = (caller, standing.scope, standing.measure, standing.limit)
    reached = next((share for share in _SHARES if standing.used >= share * standing.limit), 0.0)
    before, known[key] = known.get(key, 0.0), reached
    if reached <= before:
        return ""
    advice = " Finish what matters most." if reached == _SHARES[0] else ""
    return f"[limit] {standing.text} are used.{advice}"
