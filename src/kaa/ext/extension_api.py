"""The argument of `extend(kaa)`: the methods by which an extension registers tools, commands and hooks."""

from collections.abc import Callable
from typing import TypeAlias

from kaa.ext.registration.commands import CommandRegistrations
from kaa.ext.registration.hooks import (
    CompactionRegistrations,
    ObserverRegistrations,
    RunHookRegistrations,
    SessionHookRegistrations,
)
from kaa.ext.registration.resources import (
    PromptRegistrations,
    ProviderRegistrations,
    SettingsRegistrations,
    ThemeRegistrations,
)
from kaa.ext.registration.tools import ToolRegistrations

# Grows when something is added to `ExtensionAPI`. An extension that needs more than version 1 defines `API_VERSION`.
API_VERSION = 1


class ExtensionAPI(
    ToolRegistrations,
    CommandRegistrations,
    PromptRegistrations,
    ProviderRegistrations,
    RunHookRegistrations,
    SessionHookRegistrations,
    CompactionRegistrations,
    ObserverRegistrations,
    SettingsRegistrations,
    ThemeRegistrations,
):
    """Registers what an extension adds to kaa. All open conversations see it until the extension is unloaded.

    Rules for all hooks:

    - **Order**: hooks of built-in extensions first, then in the order in which the extensions were loaded, within an
      extension in the order of registration. The next hook starts when the one before has returned. Tool calls of one
      reply run in parallel, so hooks of different calls may overlap.
    - **Arguments**: those that the method names, then the `ConversationContext` of the conversation.
    - **Return value**: None changes nothing. A value of a wrong type counts as a failure of the hook.
    - **Time limit**: 60 seconds for each call; the time in which the hook waits for the user's answer does not count. A
      hook that takes longer is cancelled, which counts as a failure. The user sees the name of a hook that runs for
      half a second, and can stop it with the same effect.
    - **Failure**: kaa reports it with the name of the extension. Each method says what happens then.
    - **Abort**: if the user stops the run, the hook that is running gets `asyncio.CancelledError`.
    """

    @property
    def api_version(self) -> int:
        """The version of this interface. It grows with each addition; removals are announced in advance."""
        return API_VERSION


Extension: TypeAlias = Callable[[ExtensionAPI], None]
