"""Reading the settings and loading changed extensions again while a conversation goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from kaa.core.agent import Agent
from kaa.ext.errors import CommandError
from kaa.shell.budgeting import Budgeting
from kaa.shell.gatekeeper import Gatekeeper
from kaa.shell.models.fallback import FallbackModels
from kaa.shell.models.switching import Models
from kaa.shell.settings import Settings, SettingsError

# What only a new start changes: the prompt, the tools and the walls around them are fixed for the life of a
# conversation.
_FIXED = ("sandbox", "default_tools", "session_dir", "http_idle_timeout_ms", "http_proxy", "otel")


class Reloading:
    """Puts changed settings in force, as far as they may change.

    Args:
        agent: hands queues over and repeats requests as they say.
        fallback: goes by them when a model is given up.
        extensions: loads changed and new extensions; returns what that did, in lines.
    """

    def __init__(
        self,
        settings: Settings,
        file: Path,
        read: Callable[[], Settings],
        agent: Agent,
        gate: Gatekeeper,
        models: Models,
        fallback: FallbackModels,
        budgeting: Budgeting,
        extensions: Callable[[Settings], Awaitable[list[str]]],
    ) -> None:
        self._settings = self._current = settings
        self.file = file
        self._read = read
        self._agent = agent
        self._gate = gate
        self._models = models
        self._fallback = fallback
        self._budgeting = budgeting
        self._extensions = extensions

    @property
    def settings(self) -> Settings:
        """The settings as they were read last."""
        return self._current

    def adjust(self, settings: Settings) -> None:
        """Put other settings of queues, retries and compaction in force until the settings are read again."""
        self._current = settings
        self._agent.configure(
            settings.steering_mode, settings.follow_up_mode, settings.retry.policy(), settings.retry.timeouts()
        )

    async def reload(self) -> str:
        """Read settings.json, approvals.json, models.json and auth.json again, and load changed extensions again.

        Returns what that did, in some lines. What a project configures stays as it was when the conversation was
        opened. Where a file has a mistake, all settings stay as they were, and no extension is loaded.

        Raises:
            CommandError: a settings file has a mistake, a rule is none, or the kept ones cannot be read.
        """
        try:
            new = await asyncio.to_thread(self._read)
            self._gate.reload(new.approvals)
        except SettingsError as error:
            raise CommandError(f"nothing was changed: {error}") from error
        before, self._current = self._current, new
        self._agent.configure(new.steering_mode, new.follow_up_mode, new.retry.policy(), new.retry.timeouts())
        if new.enabled_models != before.enabled_models:  # else what the command line says holds
            self._models.set_scope(new.enabled_models)
        self._models.tune(new.tuning)
        unchanged = await self._models.reload()
        await self._fallback.reload(new.fallback_models)
        if new.budget != before.budget:  # else what was said since holds
            self._budgeting.configure(new.budget.run.budget(), new.budget.session.budget())
        fixed = [name for name in _FIXED if getattr(new, name) != getattr(self._settings, name)]
        lines = [
            "settings, rules, models and keys were read again",
            *self._models.problems,
            *await self._extensions(new),
        ]
        if unchanged:
            lines.append(unchanged)
        if fixed:
            lines.append(f"{', '.join(map(_camel, fixed))}: changes take effect at the next start")
        if "sandbox" in fixed:
            lines.append("/approvals, /net and /add-dir change the sandbox of this session")
        return "\n".join(lines)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
