"""Custom compactor: no model is asked for a summary; what was done is listed.

It costs nothing and takes no time. The files that were changed and the commands that failed say most of what the model
must know; kaa adds the user's own sentences by itself.
"""

from kaa.ext.api import AssistantMessage, CompactionRequest, CondensedText, ExtensionAPI, ToolResultMessage


def extend(kaa: ExtensionAPI) -> None:
    @kaa.register_compactor
    async def list_what_happened(request: CompactionRequest) -> CondensedText:
        changed: dict[str, None] = {}
        commands: dict[str, str] = {}
        failed: list[str] = []
        for message in request.messages:
            match message:
                case AssistantMessage():
                    for call in message.tool_calls:
                        if call.name in ("write", "edit"):
                            changed[str(call.arguments.get("path"))] = None
                        commands[call.id] = str(call.arguments.get("command", "")).partition("\n")[0]
                case ToolResultMessage(is_error=True, tool_call_id=call_id) if commands.get(call_id):
                    failed.append(commands[call_id])
        lines = [*(f"Changed: {path}" for path in changed), *(f"Failed: {command}" for command in failed)]
        return CondensedText("\n".join([request.previous_summary, *lines]).strip() or "Nothing was changed.")
