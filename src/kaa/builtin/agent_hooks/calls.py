"""Which hooks are for a tool call, with the input of each, and what their answers mean for the call."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kaa.builtin.file_paths import future_path, locate
from kaa.builtin.tools.argument_names import with_path
from kaa.builtin.tools.edit import normalize_edit_arguments
from kaa.components.hooks import HookDefinition, HookEvent
from kaa.components.hooks.matching import fulfils, matches
from kaa.components.hooks.tools import ForeignCall, absolute, foreign_calls, own_arguments, response_of
from kaa.core.messages import Json
from kaa.core.tool import ToolError
from kaa.ext.api import TextContent, ToolCall, ToolResult
from kaa.session.changed_paths import PATCH_TOOL
from kaa.workspace.protocol import Workspace

_WITH_PATH = ("read", "write", "ls", "find", "grep")


class CallHook(NamedTuple):
    """A hook that is for a call.

    Attributes:
        call: the call in the words of its dialect.
        edit: which of several edits it is about.
        decides_only: its new input is ignored.
    """

    hook: HookDefinition
    call: ForeignCall
    edit: int
    decides_only: bool = False


class NamedCall(NamedTuple):
    """The arguments of a call by the name of the file that the tool will use.

    Attributes:
        real: the same with the real path, where a link leads to another one.
    """

    arguments: dict[str, Json]
    real: dict[str, Json] | None = None


def normalized(call: ToolCall) -> dict[str, Json]:
    """The arguments under kaa's names, as the tool itself takes them: models write those of other agents, too."""
    if call.name == "edit":
        return normalize_edit_arguments(call.arguments)
    return with_path(call.arguments) if call.name in _WITH_PATH else call.arguments


async def named(name: str, arguments: dict[str, Json], workspace: Workspace) -> NamedCall:
    """Find the file that a tool will use: a guard must not see `@notes` where `notes` is written.

    Args:
        arguments: from `normalized`.
    """
    path = arguments.get("path")
    if name not in (*_WITH_PATH, "edit") or not isinstance(path, str):
        return NamedCall(arguments)
    try:
        located = await locate(workspace, path)
        real = await future_path(workspace, path) if located is None else located.info.real_path
    except (OSError, ToolError):  # where the tool stops, too
        return NamedCall(arguments)
    found = arguments if located is None or located.path == path else {**arguments, "path": located.path}
    is_link = real != absolute(found["path"], workspace.root)
    return NamedCall(found, {**found, "path": real} if is_link else None)


def hooks_for(
    hooks: Sequence[HookDefinition], event: HookEvent, name: str, arguments: dict[str, Json], root: str
) -> Iterator[CallHook]:
    """The hooks of an event that are for a call.

    Args:
        arguments: from `normalized`.
    """
    if name == PATCH_TOOL:  # its parts are calls of `edit`, `write` and `bash`
        return
    for hook in hooks:
        if hook.event != event:
            continue
        for index, call in enumerate(foreign_calls(name, arguments, hook.dialect, root)):
            claude = foreign_calls(name, arguments, "claude", root)
            meant = claude[min(index, len(claude) - 1)]
            if matches(hook, call.names) and fulfils(hook.condition, (*call.names, *meant.names), meant.input):
                yield CallHook(hook, call, index)


def input_of(found: CallHook, call_id: str, base: dict[str, Any]) -> dict[str, Any]:
    """The input of a hook for a call. `base`: what all inputs have."""
    given = {**base, "tool_name": found.call.name, "tool_input": found.call.input}
    return given if found.hook.dialect == "gemini" else {**given, "tool_use_id": call_id}


def answered(
    found: CallHook, given: dict[str, Any], call: ToolCall, arguments: dict[str, Json], result: ToolResult, root: str
) -> dict[str, Any]:
    """The input of a hook after a call. `given`: from `input_of`."""
    text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
    if found.hook.event == "PostToolUseFailure":
        return {**given, "error": text, "is_interrupt": False}
    about = arguments
    if call.name == "edit" and isinstance(edits := arguments.get("edits"), list) and found.edit < len(edits):
        about = {**arguments, "edits": [edits[found.edit]]}
    response = response_of(call.name, about, text, found.hook.dialect, root, is_error=result.is_error)
    return {**given, "tool_response": response}


def replaced(
    found: CallHook, update: dict[str, Any], call: ToolCall, arguments: dict[str, Json], root: str, *, merges: bool
) -> dict[str, Json] | None:
    """The arguments that a hook wants; None if kaa's tool cannot do that."""
    whole = {**found.call.input, **update} if merges else update
    return own_arguments(call.name, arguments, whole, found.hook.dialect, root, found.edit)
