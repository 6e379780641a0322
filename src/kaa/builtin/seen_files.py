"""Which content of files a model has seen, so that `write` replaces nothing that somebody else saved meanwhile."""

import posixpath
import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeAlias

from kaa.builtin.file_paths import locate
from kaa.builtin.tools.argument_names import with_path
from kaa.core.messages import AssistantMessage, Json, Message, ToolCall, ToolResultMessage
from kaa.core.tool import ToolError
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.errors import CommandError
from kaa.workspace.protocol import FileInfo

_MAX_KEPT_BYTES = 256 * 1024  # of one file
_MAX_KEPT_FILES = 64
_MAX_COMMANDS = 1000
_CLOCK_STEP_NS = 20_000_000  # the kernel's clock of files lags behind: CONFIG_HZ=100 has steps of 10 ms
_SHOWN_LINES = 200
_BEGINNING_LINES = 40
_BEGINNING_BYTES = 4096

# What formatters change: blanks, quotation marks, commas and semicolons at ends, parentheses around longer lines.
_LAYOUT = re.compile(rb"[\s'\"`,;()]+")
_KNOWING = frozenset({"read", "write", "edit"})

_Key: TypeAlias = tuple[str, str]  # who saw which real path


class _Command:
    """What a model ran, and when, in Unix time."""

    def __init__(self, text: str, caller: str) -> None:
        self.text = text
        self.caller = caller
        self.start_ns = time.time_ns() - _CLOCK_STEP_NS
        self.end_ns: int | None = None

    def ran_at(self, moment_ns: int) -> bool:
        """Return True if the command ran at this moment."""
        return self.start_ns <= moment_ns and (self.end_ns is None or moment_ns <= self.end_ns)


class SeenFiles:
    """The files of one conversation. Its agents have seen what they read, not what the conversation's model did."""

    def __init__(self) -> None:
        self._stamps: dict[_Key, tuple[int, int]] = {}
        self._contents: OrderedDict[_Key, bytes] = OrderedDict()  # whole ones, to show later what is different
        self._commands: list[_Command] = []

    @contextmanager
    def command(self, text: str, context: ToolContext) -> Iterator[None]:
        """Attribute to the model what a command changes while it runs, as far as its words say so."""
        if not context.model_calls:
            yield
            return
        running = _Command(text, context.caller)
        self._commands.append(running)
        del self._commands[:-_MAX_COMMANDS]
        try:
            yield
        finally:
            running.end_ns = time.time_ns()

    def note(self, info: FileInfo, content: bytes | None, context: ToolContext) -> None:
        """Remember that the model knows the file as it is now. `content`: all of it, if that was shown."""
        key = _key(info, context)
        self._stamps[key] = _stamp(info)
        self._contents.pop(key, None)
        if content is not None and len(content) <= _MAX_KEPT_BYTES:
            self._contents[key] = content
            if len(self._contents) > _MAX_KEPT_FILES:
                self._contents.popitem(last=False)

    def note_edit(self, before: FileInfo, old: bytes, after: FileInfo, new: bytes, context: ToolContext) -> None:
        """Remember an edit. It tells the model nothing of the rest of a file that it did not know before."""
        if self._contents.get(_key(before, context)) == old or self._knows(before, context):
            self.note(after, new, context)

    async def learn_changes(self, path: str, context: ConversationContext) -> str:
        """Return how a file differs from what the model knows of it, as a text for the model.

        It knows the file then if nothing but its layout is different, as after a formatter: anything else may be what
        the user saved meanwhile. Empty if nothing is different, or if that cannot be shown: then `check` tells of it.
        """
        found = await locate(context.workspace, path)
        if found is None:
            return ""
        key = (context.caller, found.info.real_path)
        seen = self._contents.get(key)
        if seen is None or self._stamps.get(key) == _stamp(found.info):
            return ""
        present = (await context.workspace.read(found.path, 0, _MAX_KEPT_BYTES + 1)).data
        if len(present) > _MAX_KEPT_BYTES:
            return ""
        if _LAYOUT.sub(b"", present) == _LAYOUT.sub(b"", seen):
            self._stamps[key], self._contents[key] = _stamp(found.info), present
        return "" if present == seen else _difference(path, seen, present)

    def _knows(self, info: FileInfo, context: ToolContext) -> bool:
        """Return True if the model saw this state of the file, or a command of its own made it.

        While a command runs, the user saves files, too. A file that the model knows was written by the command if its
        words say so. One that it does not know may be made by whatever does more than look.
        """
        key = _key(info, context)
        if self._stamps.get(key) == _stamp(info):
            return True
        ran = [one for one in self._commands if one.caller == key[0] and one.ran_at(info.modified_ns)]
        if not ran:
            return False
        from kaa.builtin.command_kinds import (
            kind_of,
            names_as_written,
        )  # lazy: commands change few files that are known

        read = context.read_command
        if key not in self._stamps:
            return any(kind_of(one.text, read) != "looks" for one in ran)
        name = posixpath.basename(info.real_path)
        return any(names_as_written(one.text, name, read) for one in ran)

    async def check(self, path: str, info: FileInfo, new: bytes, context: ToolContext) -> None:
        """Refuse once to replace content that the model has not seen, and show it.

        Args:
            info: the file as it was a moment ago.

        Raises:
            ToolError: has what the model did not see; it may replace this from now on.
        """
        if info.kind != "file" or not info.size or self._knows(info, context):
            return
        info = await context.workspace.stat(path) or info  # a call of the same reply may have written it meanwhile
        if self._knows(info, context):
            return
        key = _key(info, context)
        was_seen, seen = key in self._stamps, self._contents.get(key)
        if not was_seen and await _is_in_history(info, context):
            return
        present = await context.workspace.read(path, 0, _MAX_KEPT_BYTES + 1)
        whole = present.data if len(present.data) <= _MAX_KEPT_BYTES else None
        if whole is not None and whole in (new, seen):
            return
        self.note(info, whole, context)
        if not was_seen:
            raise ToolError(
                f"{path} was not written: it has content that you have not read since this conversation was opened. "
                f"It begins:\n\n{_beginning(present.data)}\n\n"
                "Change it with edit, or repeat this call to replace all of it."
            )
        raise ToolError(
            f"{path} was not written: it has changed since you last read or wrote it.\n\n"
            f"{_difference(path, seen, present.data)}\n\n"
            "Keep these changes: use edit, or repeat this call with content that includes them."
        )


def seen_files(context: ToolContext) -> SeenFiles:
    """Return those of the conversation."""
    return context.state(SeenFiles, SeenFiles)


async def check_write(arguments: dict[str, Json], context: ToolContext) -> None:
    """Refuse a call of `write` that a model makes by another tool, as `SeenFiles.check` does."""
    path, content = arguments.get("path"), arguments.get("content")
    if not isinstance(path, str) or not isinstance(content, str):
        return  # write says what is wrong
    found = await locate(context.workspace, path)
    if found is not None:
        await seen_files(context).check(found.path, found.info, content.encode("utf-8", "replace"), context)


async def _is_in_history(info: FileInfo, context: ToolContext) -> bool:
    """Return True if the model read or wrote the file before the conversation was opened, and it is as it was then."""
    if context.caller:  # an agent: the session is that of the conversation
        return False
    messages: Sequence[Message] = ()
    with suppress(CommandError):
        messages = context.session.messages
    for path in _known_paths(messages, info.modified_ns):
        if posixpath.basename(path) == posixpath.basename(info.real_path):
            found = await locate(context.workspace, path)
            if found is not None and found.info.real_path == info.real_path:
                return True
    return False


def _known_paths(messages: Sequence[Message], since_ns: int) -> Iterator[str]:
    """The paths of calls that showed or wrote a file after a moment, in Unix time. Ids come again in later turns."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        match message:
            case AssistantMessage():
                calls = {call.id: call for call in message.tool_calls}
            case ToolResultMessage(tool_name=name, is_error=False, timestamp=moment_ms) if (
                name in _KNOWING and moment_ms >= since_ns // 1_000_000
            ):
                call = calls.get(message.tool_call_id)
                path = with_path(call.arguments).get("path") if call is not None else None
                if isinstance(path, str):
                    yield path
            case _:
                pass


def _stamp(info: FileInfo) -> tuple[int, int]:
    return (info.modified_ns, info.size)


def _key(info: FileInfo, context: ToolContext) -> _Key:
    return (context.caller if context.model_calls else "", info.real_path)


def _difference(path: str, before: bytes | None, after: bytes) -> str:
    if before is None or len(after) > _MAX_KEPT_BYTES:
        return f"What is different is not known. It begins now:\n\n{_beginning(after)}"
    # Lazy: few files are changed by two at once.
    from kaa.builtin.encoding import display_text
    from kaa.builtin.file_differences import shown
    from kaa.workspace.checkpoints.plans import FileDifference

    old, new = display_text(before).encode(), display_text(after).encode()
    found = shown(FileDifference(path, old, new), most_lines=_SHOWN_LINES)
    return f"{found.diff or found.summary}{f' ({found.remark})' if found.remark else ''}"


def _beginning(data: bytes) -> str:
    from kaa.builtin.encoding import display_text, is_binary  # lazy, as above

    if is_binary(data[:_BEGINNING_BYTES]):
        return "[binary content]"
    lines = display_text(data[:_BEGINNING_BYTES]).splitlines()
    more = len(data) > _BEGINNING_BYTES or len(lines) > _BEGINNING_LINES
    return "\n".join([*lines[:_BEGINNING_LINES], *(["[More follows.]"] if more else [])])
