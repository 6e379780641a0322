"""Carries out what extensions ask of one conversation (`kaa.ext.acting.ConversationControl`)."""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Agent
from kaa.core.budget import LimitUsage
from kaa.ext.acting import IdleWork
from kaa.ext.choices import OtherFiles
from kaa.ext.errors import CommandError
from kaa.ext.features import Features
from kaa.ext.scope import Scope
from kaa.ext.tools import RegisteredTool
from kaa.host.log import LOG
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.acting.messages import ExtensionMessages, Unasked
from kaa.shell.active_tools import ActiveTools
from kaa.shell.budgeting import Budgeting
from kaa.shell.home import Home
from kaa.shell.models.switching import Models
from kaa.shell.naming import Naming
from kaa.shell.settings import Settings

if TYPE_CHECKING:
    from kaa.ext.command_reading import CommandReading
    from kaa.ext.completions import Completion, CompletionTask
    from kaa.ext.conversation_session import ConversationSession
    from kaa.ext.flags import FlagValue
    from kaa.ext.navigation import SessionChanges, Since
    from kaa.ext.registration.settings import SettingsT
    from kaa.ext.stores import Store, StoreScope
    from kaa.shell.compaction.summarizing import Summarizer
    from kaa.shell.navigating import Navigation


class ActingParts(msgspec.Struct, frozen=True):
    """What extensions act on.

    Attributes:
        navigation: gives what labels entries of the session.
        flag: gives the options of extensions.
    """

    agent: Agent
    models: Models
    tools: ActiveTools
    naming: Naming
    budgeting: Budgeting
    store: SessionStore
    recorder: SessionRecorder
    summarizer: "Summarizer"
    navigation: "Callable[[], Navigation]"
    settings: Callable[[], Settings]
    flag: "Callable[[str, str], FlagValue | None]"
    home: Home
    project: str


class Acting:
    """Does what the extensions of one conversation ask for (`kaa.ext.acting.ConversationActions`).

    All calls must come from its event loop.

    Args:
        notify: told, in a sentence, of what fails and has no caller.
        unasked: gives what starts runs for extensions; None as long as nothing does.
    """

    def __init__(
        self,
        parts: ActingParts,
        notify: Callable[[str], None],
        unasked: Callable[[], Unasked | None],
        approval_mode: Callable[[], str],
    ) -> None:
        self._parts = parts
        self._unasked = unasked
        self._approval_mode = approval_mode
        self.notify = notify
        self._messages = ExtensionMessages(parts.agent)

    def send(self, extension: str, text: str, *, steer: bool) -> None:
        self._messages.send(self._queue(), extension, text, steer=steer)

    def when_idle(self, extension: str, work: IdleWork) -> None:
        if not callable(work):
            raise CommandError(f"{work!r} is not a function: pass an async function, without calling it")
        self._queue().when_idle(extension, work)

    def run_beside(self, extension: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self._queue().run_beside(self._reporting(extension, work))

    async def _reporting(self, extension: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 isolation boundary: nobody waits for it
            LOG.exception("background work of extension %s failed", extension)
            self.notify(f"work of extension {extension} failed: {error}")

    def session(self, extension: str) -> "ConversationSession":
        from kaa.shell.acting.session import ExtensionSession  # lazy, as below: few extensions need it

        parts = self._parts
        return ExtensionSession(extension, parts.agent, parts.store, parts.recorder, self._messages, parts.navigation)

    def store(self, extension: str, scope: "StoreScope") -> "Store":
        from kaa.shell.acting.stores import open_store

        parts = self._parts
        return open_store(extension, scope, self.session(extension), parts.home, parts.project)

    def settings(self, extension: str, kind: "type[SettingsT]") -> "SettingsT":
        from kaa.shell.acting.settings import converted

        return converted(kind, extension, self._parts.settings().extension_settings, self._parts.home.settings)

    @property
    def features(self) -> Features:
        model = self._parts.agent.model
        return self._parts.settings().features.for_model(model.provider, model.id)

    @property
    def verify_commands(self) -> tuple[str, ...]:
        return self._parts.settings().verify

    def read_command(self, command: str) -> "CommandReading":
        from kaa.ext.command_reading import CommandReading  # lazy, as below: it loads the grammar of bash
        from kaa.shell.approvals.grammar import read
        from kaa.shell.approvals.reach import reach

        found = reach(read(command))
        redirections = tuple(text for simple in found.simple for text in simple.redirections)
        return CommandReading(found.commands, redirections, found.complete)

    @property
    def limits(self) -> Sequence[LimitUsage]:
        return self._parts.budgeting.standings()

    @property
    def other_files(self) -> OtherFiles:
        return self._parts.settings().plan.other_files

    async def changes(self, since: "Since") -> "SessionChanges":
        return await self._parts.navigation().changes(since=since)

    def flag(self, extension: str, name: str) -> "FlagValue | None":
        return self._parts.flag(extension, name)

    @property
    def models(self) -> Models:
        return self._parts.models

    @property
    def naming(self) -> Naming:
        return self._parts.naming

    @property
    def approval_mode(self) -> str:
        return self._approval_mode()

    @property
    def active_tools(self) -> tuple[str, ...]:
        return self._parts.agent.tool_names

    @property
    def deferred_tools(self) -> dict[str, RegisteredTool]:
        return self._parts.tools.deferred()

    def can_call(self, name: str) -> bool:
        tools = self._parts.tools
        return name in self._parts.agent.tool_names or name in tools.deactivated or name in tools.deferred()

    def hidden_tool(self, name: str) -> tuple[RegisteredTool, Scope]:
        return self._parts.tools.hidden(name)

    def activate_tool(self, name: str) -> None:
        self._parts.tools.activate(name, self._parts.agent)

    def deactivate_tool(self, name: str) -> None:
        self._parts.tools.deactivate(name, self._parts.agent)

    async def complete(self, extension: str, task: "CompletionTask") -> "Completion":
        from kaa.shell.acting.completing import complete

        return await complete(extension, task, self._parts.summarizer, self._parts.recorder)

    def _queue(self) -> Unasked:
        unasked = self._unasked()
        if unasked is None:
            raise CommandError("the conversation is not open, so nothing can be sent or left for later")
        return unasked
