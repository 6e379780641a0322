"""Which tools change files: `edit` and `write`, or `apply_patch` for models that were trained to write patches."""

import msgspec

from kaa.core import events
from kaa.ext.api import ConversationContext, ExtensionAPI, RegistrationError, SessionStart
from kaa.session.changed_paths import PATCH_TOOL

_OTHERS = ("edit", "write")
_USED = (*_OTHERS, "bash")  # a patch is made of calls of these


class _Replaced(msgspec.Struct):
    """The tools that were taken from the model for `apply_patch`."""

    tools: tuple[str, ...] = ()


def extend(api: ExtensionAPI) -> None:
    """Register what follows the model of the conversation."""
    api.on_session_start(_start)
    api.on_event(events.ModelChanged)(_follow)


async def _start(_start: SessionStart, context: ConversationContext) -> None:
    _follow(None, context)


def _follow(_event: object, context: ConversationContext) -> None:
    replaced = context.state(_Replaced, _Replaced)
    if _wants_patches(context):
        if any(name not in context.active_tools for name in _USED):  # the user took one, or they are replaced already
            return
        try:
            context.activate_tool(PATCH_TOOL)
        except RegistrationError:  # the user excluded it
            return
        replaced.tools = _OTHERS
        for name in _OTHERS:
            context.deactivate_tool(name)
    elif replaced.tools:
        for name in replaced.tools:
            context.activate_tool(name)
        context.deactivate_tool(PATCH_TOOL)
        replaced.tools = ()


def _wants_patches(context: ConversationContext) -> bool:
    wanted = context.features.edit_tool
    return context.models.current.model.edits_by_patch if wanted == "auto" else wanted == PATCH_TOOL
