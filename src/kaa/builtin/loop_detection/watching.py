"""Watches the calls of a conversation and its agents, and says to whom it is told when they lead nowhere."""

import re
from collections import OrderedDict

import msgspec

from kaa.builtin.loop_detection.repeats import Effect, Repeats, SeenCall, digest, without_volatile
from kaa.core.events import ToolExecutionEnd, ToolExecutionStart
from kaa.core.hooks import GiveUp
from kaa.core.messages import Json, TextContent, ToolCall
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext

_MOST_CALLERS = 32
_MOST_OPEN = 64
_END_CHARACTERS = 8_000  # of a result, at its beginning and at its end
_TITLE_CHARACTERS = 80
_COMMAND_CHARACTERS = 2_000  # of a command, to see whether it waits
_CALM = 10  # calls: a loop before them is over
_KIND = "loop"

# Patterns, not compiled, as reading needs none of them.
_WAITING = r"\b(?:sleep|wait|watch|until|inotifywait|usleep)\b|\btail\b[^|;&]* -[a-zA-Z]*[fF]\b"
# Programs that look at what changes by itself: servers, other machines, processes.
_LOOKING_OUT = (
    r"\b(?:curl|wget|nc|ncat|telnet|ping|dig|ssh|gh|glab|kubectl|helm|docker|podman|systemctl|journalctl|ps|pgrep|lsof"
    r"|ss|netstat|jobs|nvidia-smi|squeue|aws|gcloud|az|terraform|pg_isready|redis-cli|mysqladmin)\b"
)
_LINE = r"(?m)^([+-]) *\d+ ?(.*)$"
_CONTINUE, _STOP = "Continue", "Stop"


class _Caller:
    """The calls of one model.

    Attributes:
        hits: how often in a row they were found to lead nowhere.
        is_new: the last hit was not acted on.
    """

    def __init__(self) -> None:
        self.repeats = Repeats()
        self.hits = 0
        self.last_hit = 0
        self.is_new = False
        self.why = ""


class CallWatch:
    """All calls of a conversation. Those of kaa and of extensions are not watched."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, _Caller] = OrderedDict()
        self._open: OrderedDict[str, ToolExecutionStart] = OrderedDict()  # calls that no hook has seen the result of

    def begin(self, event: ToolExecutionStart) -> None:
        if not _is_watched(event.agent or ""):
            return
        self._open[event.tool_call_id] = event
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)

    def look(self, call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
        """Look at a result; the first time that it shows a loop, it says so to the model."""
        if self._open.pop(call.id, None) is None:
            return None
        text = "".join(part.text for part in result.content if isinstance(part, TextContent))
        seen = _seen(call.name, call.arguments, text, result.details, context, failed=result.is_error)
        if not (advice := self._advice(context.caller, seen)):
            return None
        return msgspec.structs.replace(result, content=(*result.content, TextContent(advice)))

    def end(self, event: ToolExecutionEnd, context: ConversationContext) -> None:
        """A call has ended. No hook sees the results of those that were refused, or that call no tool."""
        begun = self._open.pop(event.tool_call_id, None)
        if begun is None:
            return
        seen = _seen(begun.tool_name, begun.args, event.result.text, None, context, failed=True)
        if (advice := self._advice(event.agent or "", seen)) and event.agent is None:
            context.session.add_message(advice, _KIND, display=False)

    def forget(self, caller: str) -> None:
        """What this model did until now does not count any more."""
        self._callers.pop(caller, None)

    async def escalate(self, context: ConversationContext) -> GiveUp | None:
        """Before a request: tell the user of a loop that goes on, and end the run if that does not help."""
        caller = self._callers.get(context.caller)
        if caller is None:
            return None
        caller.repeats.begin_reply()
        if not caller.is_new or caller.hits < 2:
            return None
        caller.is_new = False
        told = f"The model repeats itself: {caller.why}."
        if context.caller or not context.asker.can_ask:
            if caller.hits > 2:
                return GiveUp(f"the model repeats itself: {caller.why}", "loop")
            context.show.notice(told, "warning")
            return None
        from kaa.ext.questions import Choice, Chosen  # lazy: few models repeat themselves

        descriptions = ("the model continues", "the run ends, and your next message continues it")
        answer = await context.asker.ask(
            Choice(f"{told} Continue?", options=(_CONTINUE, _STOP), descriptions=descriptions)
        )
        if answer == Chosen(_CONTINUE):
            self.forget(context.caller)
            return None
        return GiveUp(f"paused, because the model repeats itself: {caller.why}", "loop")

    def _advice(self, name: str, seen: SeenCall) -> str:
        """Take note of a call. Returns what the model is told of it, if anything."""
        caller = self._callers.get(name)
        if caller is None:
            caller = self._callers[name] = _Caller()
            if len(self._callers) > _MOST_CALLERS:
                self._callers.popitem(last=False)
        why = caller.repeats.see(seen)
        if not why:
            return ""
        number = caller.repeats.number
        caller.hits = caller.hits + 1 if number - caller.last_hit <= _CALM else 1
        caller.last_hit, caller.is_new, caller.why = number, True, why
        if caller.hits > 1:
            return ""
        return f"[loop] {why}. Do something else, or say what you need and stop."


def _is_watched(caller: str) -> bool:
    return caller != "kaa" and not caller.startswith("extension ")


def _seen(
    name: str, arguments: dict[str, Json], text: str, details: Json, context: ConversationContext, *, failed: bool
) -> SeenCall:
    command = arguments.get("command")
    is_command = name == "bash" and isinstance(command, str)
    effect: Effect = "looks"
    is_patient = name.startswith("mcp")
    if name == "process":
        effect = "waits"
    elif is_command:
        effect = _effect_of(str(command), context)
        is_patient = bool(re.search(_LOOKING_OUT, str(command)[:_COMMAND_CHARACTERS])) or any(
            one.state == "running" for one in context.workspace.processes.list()
        )
    elif name in ("edit", "write", "apply_patch") and not failed:
        effect = "changes"
    log = details.get("fullOutputPath") if isinstance(details, dict) else None
    text = text.replace(log, "") if isinstance(log, str) and log else text  # each call has a file of its own
    shown = " ".join(str(command if is_command else arguments.get("path", "")).split())
    shown = shown if len(shown) <= _TITLE_CHARACTERS else f"{shown[: _TITLE_CHARACTERS - 1]}…"
    return SeenCall(
        title=f"{name} `{shown}`" if shown else name,
        call=f"{name} {digest(msgspec.json.encode(arguments, order='sorted').decode())}",
        result=digest(without_volatile(text[:_END_CHARACTERS] + text[-_END_CHARACTERS:])),
        effect=effect,
        is_patient=is_patient,
        edit=_edit(arguments, details),
    )


def _effect_of(command: str, context: ConversationContext) -> Effect:
    if re.search(_WAITING, command[:_COMMAND_CHARACTERS]):
        return "waits"
    from kaa.builtin.command_kinds import kind_of  # lazy: only for commands

    return "changes" if kind_of(command, context.read_command) in ("writes", "installs") else "looks"


def _edit(arguments: dict[str, Json], details: Json) -> tuple[str, str, str] | None:
    """The file, what an edit removed there, and what it added."""
    diff = details.get("diff") if isinstance(details, dict) else None
    if not isinstance(diff, str):
        return None
    from kaa.builtin.diff import MAX_LINE_CHARACTERS  # lazy: an edit has loaded it

    lines: dict[str, list[str]] = {"-": [], "+": []}
    is_cut = False
    for sign, line in re.findall(_LINE, diff):
        lines[sign].append(line)
        is_cut |= len(line) > MAX_LINE_CHARACTERS
    if is_cut:  # what tells two edits of a long line apart may be behind the cut
        replaced = arguments.get("edits")
        if not isinstance(replaced, list):
            return None
        for one in filter(lambda one: isinstance(one, dict), replaced):
            lines["-"].append(str(one.get("oldText")))
            lines["+"].append(str(one.get("newText")))
    return str(arguments.get("path", "")), digest("\n".join(lines["-"])), digest("\n".join(lines["+"]))
