"""Formatter: run a formatter on each file that the agent wrote or edited, inside the sandbox.

The model is told if the formatter failed, so that it repairs the syntax at once.
"""

from pathlib import PurePath

import msgspec

from kaa.ext.api import CommandRequest, ConversationContext, ExtensionAPI, ToolCall, ToolResult, text_result


class Formatters(msgspec.Struct):
    """Commands by suffix; the path is appended."""

    commands: dict[str, list[str]] = msgspec.field(
        default_factory=lambda: {".py": ["ruff", "format", "--quiet"], ".go": ["gofmt", "-w"]}
    )


def extend(kaa: ExtensionAPI) -> None:
    kaa.settings(Formatters)

    @kaa.after_tool
    async def format_file(call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
        if call.name not in ("write", "edit") or result.is_error:
            return None
        path = str(call.arguments["path"])
        command = context.settings(Formatters).commands.get(PurePath(path).suffix)
        if command is None:
            return None
        done = await context.workspace.run(CommandRequest([*command, path]))
        if done.exit_code == 0:
            return None
        problem = done.tail.decode(errors="replace").strip()
        written = "\n".join(getattr(part, "text", "") for part in result.content)
        return text_result(f"{written}\n\n{command[0]} failed on {path}:\n{problem}", details=result.details)
