"""Audit log: a line of JSON for each tool call and the end of each run, in ~/.kaa/audit.jsonl or $KAA_AUDIT_LOG."""

import os
import time
from pathlib import Path

import msgspec

from kaa.ext.api import ConversationContext, ExtensionAPI, events


def extend(kaa: ExtensionAPI) -> None:
    path = Path(os.environ.get("KAA_AUDIT_LOG") or Path.home() / ".kaa" / "audit.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("ab")
    kaa.on_close(file.close)

    def write(kind: str, context: ConversationContext, **fields: object) -> None:
        line = {"time": time.time(), "project": context.workspace.root, "kind": kind, **fields}
        file.write(msgspec.json.encode(line) + b"\n")
        file.flush()

    @kaa.on_event(events.ToolExecutionStart)
    def started(event: events.ToolExecutionStart, context: ConversationContext) -> None:
        write("call", context, id=event.tool_call_id, tool=event.tool_name, arguments=event.args)

    @kaa.on_event(events.ToolExecutionEnd)
    def ended(event: events.ToolExecutionEnd, context: ConversationContext) -> None:
        write("result", context, id=event.tool_call_id, error=event.is_error)

    @kaa.on_event(events.AgentEnd)
    def over(event: events.AgentEnd, context: ConversationContext) -> None:
        write("end", context, reason=event.reason)
