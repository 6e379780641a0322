"""The process tool: what the model can see of background processes and do to them."""

from typing import Literal

import msgspec

from kaa.core.tool import ToolResult, TypedTool
from kaa.ext.context import ToolContext

_DESCRIPTION = (
    "Background processes. output: what is new; wait: until there is more, or the end; write: a line of input to its "
    "terminal, or keys such as \\u0003; stop: end it."
)


class ProcessArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to do with which process. `seconds`: to wait at most."""

    action: Literal["list", "output", "wait", "write", "stop"]
    id: int | None = None
    input: str | None = None
    seconds: float | None = None


def process_tool() -> TypedTool[ProcessArguments, ToolContext]:
    """The tool."""
    return TypedTool("process", _DESCRIPTION, ProcessArguments, _process)


async def _process(arguments: ProcessArguments, context: ToolContext) -> ToolResult:
    from kaa.builtin.tools.process_view import act  # lazy: few conversations have background processes

    return await act(arguments, context)
