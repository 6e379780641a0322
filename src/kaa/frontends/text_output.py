"""Print mode's output: the answer on stdout as it streams, progress on stderr."""

from collections.abc import Collection
from math import ceil
from typing import TYPE_CHECKING, TextIO

from kaa.core.events import (
    AgentEnd,
    AutoRetryStart,
    BudgetUpdate,
    CompactionEnd,
    Event,
    MessageEnd,
    MessageUpdate,
    ModelFallback,
    ResultsShortened,
    TextDelta,
    ToolArgumentsReplaced,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    WorkStart,
)
from kaa.core.messages import AssistantMessage, TextContent
from kaa.frontends.delivery import deliver
from kaa.llm.models.registry import NoModelError
from kaa.session.changed_paths import PATCH_TOOL, changed_paths
from kaa.shell.conversation import Conversation
from kaa.shell.host import HostNotice

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate

_SUMMARY_CHARACTERS = 100

# The argument that says most about a call, by preference.
_TELLING = ("command", "path", "pattern", "tool", "server", "action")

# How a line of a result begins that says what the sandbox stopped.
_BLOCKED = "[sandbox] "


class TextOutput:
    """Writes a run for people and pipes.

    Args:
        err: gets one line per tool call, retries and errors.
        verbose: also show on `err` what tools print.

    Attributes:
        shows: what it writes of what extensions show: notices.
    """

    def __init__(self, out: TextIO, err: TextIO, *, verbose: bool = False) -> None:
        self._out = out
        self._err = err
        self._verbose = verbose
        self.shows: Collection[DisplayKind] = ["notice"]
        self._clean = _sanitized if out.isatty() else _unchanged
        self._conversation: Conversation | None = None
        self._line_open = False
        self._err_line_open = False

    def event(self, event: Event) -> None:
        match event:
            case MessageUpdate(assistant_message_event=TextDelta(delta=delta)):
                self._say(delta)
            case MessageEnd(message=AssistantMessage()):
                self._end_line()
            case ToolExecutionStart() | ToolArgumentsReplaced():
                self.progress(f"> {event.tool_name} {self._subject(event)}")
            case ToolExecutionUpdate() if self._verbose:
                deliver(self._err, _sanitized(event.delta))
                self._err_line_open = not event.delta.endswith("\n")
            case ToolExecutionEnd():
                self._tell_result(event)
            case AutoRetryStart():
                seconds = ceil(event.delay_ms / 1000)
                retry = f"retry {event.attempt} of {event.max_attempts} in {seconds} s"
                self.progress(f"  {event.error_message} ({retry})")
            case AgentEnd():
                self._tell_end(event)
            case _:
                self._tell_aside(event)

    def begin(self, conversation: Conversation) -> None:
        """Show what happens in a conversation from now on."""
        self._conversation = conversation
        conversation.subscribe(self.event)

    def notice(self, notice: HostNotice) -> None:
        self.progress(notice.text)

    def show(self, update: "DisplayUpdate") -> None:
        from kaa.ext.display import plain_text_of  # lazy: few extensions show something

        author = f"{update.author}: " if update.author else ""
        self.progress(f"{author}{plain_text_of(update.change)}")

    def reply(self, text: str) -> None:
        self._say(text)
        self._end_line()

    def progress(self, line: str) -> None:
        self._end_line()
        deliver(self._err, "\n" * self._err_line_open + _sanitized(line) + "\n")
        self._err_line_open = False

    def failure(self, message: str) -> None:
        self.progress(f"kaa: {message}")

    def no_model(self, error: NoModelError) -> None:
        from kaa.frontends import getting_started  # lazy: most have a model

        self._end_line()
        deliver(self._err, _sanitized(getting_started.screen(error)))

    def _say(self, text: str) -> None:
        deliver(self._out, self._clean(text))
        if text:
            self._line_open = not text.endswith("\n")

    def _subject(self, call: ToolExecutionStart | ToolArgumentsReplaced) -> str:
        """What a call is about: the title that its extension gave, or the argument that says most."""
        if isinstance(call, ToolArgumentsReplaced):
            by = f"extension {call.source}" if call.source else "kaa"
            return (
                f"{self._subject(ToolExecutionStart(call.tool_call_id, call.tool_name, call.args))} (changed by {by})"
            )
        titles = {} if self._conversation is None else self._conversation.call_titles
        if call.tool_name in titles:
            from kaa.ext.call_titles import filled_title  # lazy: few extensions give titles

            return _shorten(filled_title(titles[call.tool_name], call.args))
        if call.tool_name == PATCH_TOOL:
            return _shorten(", ".join(changed_paths(call.tool_name, call.args)))
        telling = next((call.args[name] for name in _TELLING if name in call.args), None)
        return _shorten(str(telling)) if telling is not None else ""

    def _tell_result(self, end: ToolExecutionEnd) -> None:
        """Say why a call failed, or what the sandbox stopped in one that ended well."""
        if end.is_error:
            blocked = [line for line in end.result.text.splitlines() if line.startswith(_BLOCKED)]
            why = blocked[-1].removeprefix(_BLOCKED) if blocked else _last_line(_unframed(end))
            text, name = _shorten(why), end.tool_name
            self.progress(f"  {text}" if text.startswith(f"{name} ") else f"  {name} failed: {text}")
            return
        for line in end.result.text.splitlines():
            if line.startswith(_BLOCKED):
                self.progress(f"  {line}")

    def _tell_aside(self, event: Event) -> None:
        """Say what happens beside the conversation."""
        match event:
            case ModelFallback():
                self.progress(f"  {event.error_message}")
                self.progress(f"  {event.from_model} was abandoned; {event.to_model} continues")
            case BudgetUpdate(state=state, message=message) if state != "reached":  # the end of the run says that
                self.progress(f"  budget: {message}")
            case CompactionEnd(reason="threshold" | "overflow"):
                self._tell_compaction(event)
            case ResultsShortened():
                self.progress(f"  {event.sentence}")
            case WorkStart():
                self.progress(f"  waiting for {event.text}")
            case _:
                pass

    def _tell_compaction(self, end: CompactionEnd) -> None:
        if end.error is not None:
            self.progress(f"  the conversation could not be compacted: {end.error}")
        elif not end.aborted:
            self.progress(f"  compacted the conversation: {end.tokens_before:,} tokens → about {end.tokens_after:,}")
        if end.warning is not None:
            self.progress(f"  {end.warning}")

    def _tell_end(self, end: AgentEnd) -> None:
        """Say how a run ended, unless all went well, and what it leaves unresolved."""
        is_told = end.reason == "done" or (end.reason == "denied" and end.denials)
        for line in (*([] if is_told else [end.error or end.reason]), *end.remarks):
            self.progress(f"kaa: {line}")

    def _end_line(self) -> None:
        if self._line_open:
            self._say("\n")


def _unchanged(text: str) -> str:
    return text


def _unframed(end: ToolExecutionEnd) -> str:
    """What a tool itself said, without what kaa adds behind; of a server's tool without the frame, too."""
    texts = [part.text for part in end.result.content if isinstance(part, TextContent)]
    if end.tool_name != "mcp" and not end.tool_name.startswith("mcp__"):
        return next((text for text in texts if text.strip()), "")
    from kaa.builtin.mcp.results import unframed  # lazy: few runs use a server

    said = (unframed(text) for text in texts)
    return next((one.text for one in said if one is not None), texts[0] if texts else "")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SUMMARY_CHARACTERS else flat[: _SUMMARY_CHARACTERS - 1] + "…"


def _sanitized(text: str) -> str:
    from kaa.tui.sanitize import sanitize  # lazy: many runs only print a reply into a pipe

    return sanitize(text)
