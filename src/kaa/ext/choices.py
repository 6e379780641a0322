"""What the person can choose for a conversation: the model, how hard it thinks, approvals, trust in the project."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from kaa.core.provider import Model, ThinkingLevel

# Whether kaa trusts the project's files (`kaa.shell.trust`): in this conversation, whatever was decided before; never;
# as decided before; or as decided before, but only instructions.
TrustChoice: TypeAlias = Literal["yes", "no", "stored", "instructions"]

# What the person answers: for this process; no, for good; yes, until the files change; forget what was decided.
TrustAnswer: TypeAlias = Literal["yes", "no", "stored", "forget"]


class ModelState(msgspec.Struct, frozen=True):
    """The model in force.

    Attributes:
        levels: the thinking levels it has, the lowest first.
        is_listed: whether kaa knows that its provider has it; any other name is the user's word.
    """

    model: Model
    thinking: ThinkingLevel
    levels: tuple[ThinkingLevel, ...]
    is_listed: bool = True

    @property
    def name(self) -> str:
        """`provider/id`."""
        return self.model.qualified_id


class ScopedModel(msgspec.Struct, frozen=True):
    """A model to cycle to. `level`: how hard it is to think there; None leaves that as it is."""

    model: Model
    level: ThinkingLevel | None = None


class SessionModels(Protocol):
    """Which model answers, and how hard it thinks."""

    @property
    def current(self) -> ModelState:
        """The model that gets the next request."""

    def available(self) -> tuple[Model, ...]:
        """The models that could be used, in order of preference."""

    async def offered(self) -> tuple[Model, ...]:
        """The same, after a look at models.json and, for a second at most, at the servers on this machine."""

    def scoped(self) -> Sequence[ScopedModel]:
        """The models to cycle through, as the user chose them; none if there was no choice."""

    async def set_scoped(self, patterns: Sequence[str], *, keep: bool = False) -> Sequence[ScopedModel]:
        """Choose the models to cycle through. Returns them.

        Args:
            patterns: as in the setting `enabledModels`; none for all.
            keep: also for other conversations, in the settings.

        Raises:
            CommandError: no model fits a pattern, or the settings cannot be written.
        """

    async def switch(self, query: str, *, keep: bool = True) -> ModelState:
        """Switch to a model, from the next request on.

        A model that is not listed becomes the default after its first reply.

        Args:
            query: `provider/id`, `id` or a part of it, with `:level` for the thinking level.
            keep: make it the default of new sessions.

        Raises:
            CommandError: no model fits, several do, or the model cannot be used.
        """

    async def find(self, query: str) -> Model:
        """The model that a query means, as `switch` takes it. Nothing is switched.

        Raises:
            CommandError: as `switch` does.
        """

    def think(self, level: str) -> ThinkingLevel:
        """Have the model think this hard, or as nearly as it can. Returns the level in force.

        Raises:
            CommandError: there is no such level.
        """


class SessionApprovals(Protocol):
    """Which tool calls need the person's approval."""

    @property
    def policy(self) -> str:
        """The mode in force."""

    @property
    def policies(self) -> Mapping[str, str]:
        """All modes, each with what it means."""

    async def choose(self, policy: str) -> str:
        """Set the mode, from the next call on. Returns it, with what else there is to know, in some lines.

        Raises:
            CommandError: there is no such mode, or it cannot be set here.
        """

    async def leave_plan(self) -> str:
        """Set the mode that was in force before `plan` or `read-only`. Returns the mode.

        Raises:
            CommandError: it cannot be set.
        """

    @property
    def directories(self) -> Sequence[str]:
        """The directories that tools can write, the project first."""

    async def add_directory(self, path: str) -> str:
        """Let tools write a directory from the next call on. Returns what that did, in a sentence.

        Raises:
            CommandError: it cannot be added.
        """


# What is done about changes to files that a step of a plan does not name.
OtherFiles: TypeAlias = Literal["report", "ask", "fail"]

# Whether a setting is for all projects, for this one, or until the session ends.
SettingScope: TypeAlias = Literal["global", "project", "session"]


class UserSetting(msgspec.Struct, frozen=True):
    """A setting of settings.json.

    Attributes:
        key: its place in the file, with dots between levels.
        value: the value in force, as JSON.
        allowed: the values it can have, as they are typed; empty where there are too many to list.
        description: what it does; may be empty.
        source: where the value comes from, as in "this project"; empty where there is only one place.
        scopes: for what it can be set.
    """

    key: str
    value: str
    allowed: tuple[str, ...] = ()
    description: str = ""
    source: str = ""
    scopes: tuple[SettingScope, ...] = ("global",)


class SessionSettings(Protocol):
    """The user's settings."""

    def listed(self) -> Sequence[UserSetting]:
        """All settings, with the values in force."""

    def check(self, key: str, text: str) -> None:
        """See whether a setting can have a value.

        Raises:
            CommandError: there is no such setting, or it cannot have this value.
        """

    async def set(self, key: str, text: str, scope: SettingScope = "global") -> str:
        """Set a setting and put it in force, as far as that can be. Returns what that did, in some lines.

        Args:
            key: its place in the file, with dots between levels.
            text: the value: JSON, or a text without quotes.
            scope: for what. `global` and `project` write the user's settings.json, the latter below `projects`.

        Raises:
            CommandError: there is no such setting, it cannot have this value, or the file cannot be changed.
        """
