"""settings.json: the user's choices, with the project's laid over them. Keys and defaults follow pi's.

Keys that kaa does not know are ignored, so that a pi user's file works as it is; those of pi's that matter are reported
(`ignored_settings.py`). A project may only set
what cannot harm: nothing that is executed, and nothing that says where requests or files go.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec

from kaa.core.budget import LEAST, Budget
from kaa.core.messages import Json
from kaa.core.provider import ThinkingLevel
from kaa.core.queues import DrainMode
from kaa.core.retry import RetryPolicy
from kaa.core.stream_timeouts import StreamTimeouts
from kaa.ext.choices import OtherFiles
from kaa.ext.features import Features
from kaa.hands.policy import Mode
from kaa.host.paths import leads_elsewhere
from kaa.host.regular_files import read_regular
from kaa.llm import jsonc
from kaa.llm.local.addresses import is_address
from kaa.llm.tuning import CacheRetention, Tuning
from kaa.shell.components import ForeignAgent, Kind
from kaa.shell.ignored_settings import ignored_settings, misspelled_settings, unknown_settings

if TYPE_CHECKING:
    from kaa.components.agent_definition import ModelRole

# What a project's settings may override: which models and tools, the order of messages, and which commands of the
# sandbox verify the work. Never where requests go and through what, what they cost, how long and how often they are
# tried, who is told of them, nor what is allowed.
_PROJECT_KEYS = frozenset(
    {
        "defaultModel",
        "defaultProvider",
        "defaultThinkingLevel",
        "defaultTools",
        "enabledModels",
        "followUpMode",
        "steeringMode",
        "verify",
    }
)


Milliseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
TokenCount: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


ApprovalPolicy: TypeAlias = Literal["ask", "auto", "never", "step"]


class SettingsError(Exception):
    """A settings file cannot be used; the message names the file, the place and what is expected there."""


class ProviderRetrySettings(msgspec.Struct, rename="camel", frozen=True):
    """How long servers are waited for.

    Attributes:
        max_retry_delay_ms: the longest wait that a server may ask for.
        timeout_ms: the longest that a whole reply may take; None for as long as it takes.
        silence_timeout_ms: the longest that a stream may bring nothing of the reply, though the server is alive.
    """

    max_retry_delay_ms: Milliseconds = 60_000
    timeout_ms: Annotated[int, msgspec.Meta(ge=1)] | None = None
    silence_timeout_ms: Annotated[int, msgspec.Meta(ge=1)] = 600_000


# Of the waits between tries; chance takes up to this part off, so that not everybody comes back at once.
_JITTER = 0.2


class RetrySettings(msgspec.Struct, rename="camel", frozen=True):
    """What to do about transient errors."""

    enabled: bool = True
    max_retries: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 5
    base_delay_ms: Milliseconds = 500
    max_agent_delay_ms: Milliseconds = 5_000
    provider: ProviderRetrySettings = ProviderRetrySettings()

    def policy(self) -> RetryPolicy:
        """The same as the loop wants it."""
        return RetryPolicy(
            max_attempts=self.max_retries if self.enabled else 0,
            base_seconds=self.base_delay_ms / 1000,
            max_seconds=self.max_agent_delay_ms / 1000,
            max_retry_after=self.provider.max_retry_delay_ms / 1000,
            jitter=_JITTER,
        )

    def timeouts(self) -> StreamTimeouts:
        """How long a reply may take."""
        whole = self.provider.timeout_ms
        return StreamTimeouts(
            reply_seconds=None if whole is None else whole / 1000,
            silence_seconds=self.provider.silence_timeout_ms / 1000,
        )


class BudgetLimits(msgspec.Struct, rename="camel", frozen=True):
    """Limits of a run or of a session; None where there is none.

    Attributes:
        cost: in US dollars.
        tokens: without what came out of a provider's cache.
    """

    cost: Annotated[float, msgspec.Meta(ge=LEAST["cost"])] | None = None
    tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    turns: Annotated[int, msgspec.Meta(ge=1)] | None = None
    minutes: Annotated[float, msgspec.Meta(ge=LEAST["seconds"] / 60)] | None = None

    def budget(self) -> Budget:
        """The same as the core wants it."""
        return Budget(self.cost, self.tokens, self.turns, None if self.minutes is None else self.minutes * 60)


class BudgetSettings(msgspec.Struct, rename="camel", frozen=True):
    """What a run and a session may use."""

    run: BudgetLimits = BudgetLimits()
    session: BudgetLimits = BudgetLimits()


# Where the names of sessions come from that the user does not name: `first-message` keeps none, and lists show the
# first message; with `model` the model is asked for one.
AutoTitle: TypeAlias = Literal["first-message", "model"]


class CompactionOverride(msgspec.Struct, rename="camel", frozen=True):
    """Other sizes for one model; None leaves the general one."""

    reserve_tokens: TokenCount | None = None
    keep_recent_tokens: TokenCount | None = None


class CompactionSettings(msgspec.Struct, rename="camel", frozen=True):
    """When a conversation is condensed, and how much of it is kept as it is; in tokens.

    Attributes:
        enabled: condense without being asked.
        reserve_tokens: what must be free of the model's window.
        keep_recent_tokens: how much of the end is kept.
        model_overrides: by `provider/id`.
        model: writes the summaries, as `--model` takes it; None for the model in force.
    """

    enabled: bool = True
    reserve_tokens: TokenCount = 16_384
    keep_recent_tokens: TokenCount = 20_000
    model_overrides: dict[str, CompactionOverride] = {}
    model: str | None = None

    def sizes(self, model: str) -> tuple[int, int]:
        """What to reserve and what to keep with the model `provider/id`."""
        own = self.model_overrides.get(model, CompactionOverride())
        return (
            self.reserve_tokens if own.reserve_tokens is None else own.reserve_tokens,
            self.keep_recent_tokens if own.keep_recent_tokens is None else own.keep_recent_tokens,
        )


class BranchSummarySettings(msgspec.Struct, rename="camel", frozen=True):
    """Summaries of branches that are left. `skip_prompt`: nobody is asked for one, and none is made."""

    reserve_tokens: TokenCount = 16_384
    skip_prompt: bool = False


class PromptSettings(msgspec.Struct, rename="camel", frozen=True):
    """How many words kaa makes to the model. `auto`: few, where its window is small."""

    profile: Literal["auto", "full", "short"] = "auto"


class CheckpointSettings(msgspec.Struct, rename="camel", frozen=True):
    """What files were before each turn is kept, to be put back.

    Attributes:
        max_megabytes: on the disk, for each project; half of it is the most that a project may have to be covered.
        max_days: after which it is removed.
        announce_megabytes: the user is asked before so much is copied at once; 0: never.
        wait_for_all_files: the first command waits until all files have been read, however many they are.
    """

    enabled: bool = True
    max_megabytes: Annotated[int, msgspec.Meta(ge=1)] = 1024
    max_days: Annotated[int, msgspec.Meta(ge=1)] = 90
    announce_megabytes: Annotated[int, msgspec.Meta(ge=0)] = 200
    wait_for_all_files: bool = False


class SandboxSettings(msgspec.Struct, rename="camel", frozen=True):
    """What commands may touch. `network`: `off`, `on` or domains; `hidden`: paths, with a leading `!` exceptions.

    `git`: whether `.git` may be written, but for what executes. `ports`: `open` opens servers of commands on this
    machine.
    """

    mode: Mode = "workspace-write"
    network: str | tuple[str, ...] = "off"
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    git: bool = True
    ports: Literal["closed", "open"] = "closed"


class ApprovalSettings(msgspec.Struct, rename="camel", frozen=True):
    """Who is asked before what. `allow` and `deny` are rules; a project may only add to `deny`."""

    policy: ApprovalPolicy | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ProjectSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user chose for one project, over what holds for all."""

    approvals: ApprovalSettings = ApprovalSettings()
    sandbox: SandboxSettings = SandboxSettings()
    extension_settings: dict[str, dict[str, Json]] = msgspec.field(default={}, name="extensionSettings")


class PlanSettings(msgspec.Struct, rename="camel", frozen=True):
    """How plans are executed. `other_files`: what is done about changes to files that a step does not name."""

    other_files: OtherFiles = "report"


class ImageSettings(msgspec.Struct, rename="camel", frozen=True):
    """What becomes of images. `block_images`: none is sent to any model."""

    block_images: bool = False


class OtelSettings(msgspec.Struct, rename="camel", frozen=True):
    """Spans for OpenTelemetry, which says in its own variables of the environment where they go."""

    enabled: bool = False


class Settings(msgspec.Struct, rename="camel", frozen=True):
    """The settings in force."""

    default_provider: str | None = None
    default_model: str | None = None
    default_thinking_level: ThinkingLevel | None = None
    small_model: str | None = None
    large_model: str | None = None
    model_thinking_levels: dict[str, ThinkingLevel] = {}
    thinking_budgets: dict[ThinkingLevel, Annotated[int, msgspec.Meta(ge=0)]] = {}
    cache_retention: CacheRetention = "short"
    enabled_models: tuple[str, ...] = ()
    default_tools: tuple[str, ...] | None = None
    steering_mode: DrainMode = "one-at-a-time"
    follow_up_mode: DrainMode = "one-at-a-time"
    retry: RetrySettings = RetrySettings()
    prompt: PromptSettings = PromptSettings()
    features: Features = Features()
    verify: Annotated[tuple[str, ...], msgspec.Meta(max_length=8)] = ()
    plan: PlanSettings = PlanSettings()
    compaction: CompactionSettings = CompactionSettings()
    branch_summary: BranchSummarySettings = BranchSummarySettings()
    fallback_models: tuple[str, ...] = ()
    budget: BudgetSettings = BudgetSettings()
    otel: OtelSettings = OtelSettings()
    images: ImageSettings = ImageSettings()
    http_idle_timeout_ms: Annotated[int, msgspec.Meta(ge=1)] = 120_000
    http_proxy: str | None = None
    session_dir: str | None = None
    extensions: tuple[str, ...] = ()
    use_files_of: tuple[ForeignAgent, ...] = ()
    skills: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    extension_settings: dict[str, dict[str, Json]] = {}
    lsp: dict[str, Json] = {}
    required_extensions: tuple[str, ...] = ()
    auto_title: AutoTitle = "first-message"
    show_cache_miss_notices: bool = False
    checkpoints: CheckpointSettings = CheckpointSettings()
    sandbox: SandboxSettings = SandboxSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    projects: dict[str, ProjectSettings] = {}

    def excluded(self, kind: Kind) -> tuple[str, ...]:
        """Globs of names of skills, or of commands, that the user does not want."""
        entries = {"skill": self.skills, "command": self.prompts}.get(kind, ())
        return tuple(entry[1:] for entry in entries if entry.startswith("!"))

    @property
    def agent_models(self) -> "tuple[tuple[ModelRole, str], ...]":
        small: tuple[tuple[ModelRole, str], ...] = (("small", self.small_model),) if self.small_model else ()
        return (*small, ("large", self.large_model)) if self.large_model else small

    @property
    def tuning(self) -> Tuning:
        return Tuning(self.cache_retention, self.thinking_budgets, self.model_thinking_levels, self.images.block_images)


def load_user_settings(user_file: Path, directory: str | None = None) -> Settings:
    """The user's own settings: all that is known before anything of the project is read.

    Args:
        user_file: the user's settings.json; need not exist.
        directory: the project that the user may have chosen other values for, absolute.

    Raises:
        SettingsError: the file is not JSON or has a value of the wrong type.
    """
    return _converted(_chosen_by_user(user_file, directory), str(user_file))


def load_settings(
    user_file: Path,
    directory: str,
    project_file: str,
    project: bytes | None,
    notify: Callable[[str], None],
    denied: Sequence[str] = (),
) -> Settings:
    """The user's settings with the project's over them, merged one level deep as pi does.

    Args:
        user_file: the user's settings.json; need not exist.
        directory: the project, absolute.
        project: its content, or None.
        notify: told, in a sentence each, what has no effect and what the project may not set.
        denied: rules of the project's settings for other agents, which forbid calls besides.

    Raises:
        SettingsError: a file is not JSON or has a value of the wrong type.
    """
    merged = _chosen_by_user(user_file, directory)
    for ignored in ignored_settings(merged):
        notify(f"{user_file}: {ignored}.")
    if unknown := list(unknown_settings(merged, Settings)):
        for misspelled in misspelled_settings(unknown, Settings):
            notify(f"{user_file}: {misspelled}.")
    for key, value in _parse(project, project_file).items():
        if key == "approvals":
            merged[key] = _denied_too(merged, value, project_file, notify)
        elif key not in _PROJECT_KEYS:
            notify(f"{project_file}: {key!r} is ignored: a project may not set it. Put it into {user_file}.")
        elif key == "defaultProvider" and isinstance(value, str) and is_address(value):
            notify(f"{project_file}: {key!r} is ignored: a project may not set an address.")
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = {**merged[key], **value}
        else:
            merged[key] = value
    if denied:
        merged["approvals"] = _denied_too(merged, {"deny": [*denied]}, project_file, notify)
    return _converted(merged, f"{user_file} or {project_file}" if project else str(user_file))


def read_values(user_file: Path) -> dict[str, Json]:
    """What the user's settings.json says, unchecked.

    Raises:
        SettingsError: the file is not a JSON object, or cannot be read.
    """
    return _parse(_read(user_file), str(user_file))


def _chosen_by_user(user_file: Path, directory: str | None) -> dict[str, Json]:
    values = read_values(user_file)
    if directory is None or "projects" not in values:
        return values
    from kaa.shell.project_choices import with_project  # lazy: few users choose something for one project

    _converted(values, str(user_file))  # mistakes are told with their own places
    return with_project(values, directory)


def _converted(values: dict[str, Json], files: str) -> Settings:
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        from kaa.shell.setting_values import with_valid_values  # lazy: mistakes are rare

        raise SettingsError(f"{files}: {with_valid_values(error, Settings)}") from error


def _denied_too(merged: dict[str, Json], value: Json, project_file: str, notify: Callable[[str], None]) -> Json:
    """The user's approvals with what the project wants denied besides: it may be stricter, never more lenient."""
    approvals = value if isinstance(value, dict) else {}
    if set(approvals) - {"deny"}:
        notify(f"{project_file}: of 'approvals' a project may only set 'deny'; the rest is ignored.")
    mine = merged.get("approvals")
    mine = mine if isinstance(mine, dict) else {}
    theirs, ours = approvals.get("deny", []), mine.get("deny", [])
    if not isinstance(theirs, list) or not isinstance(ours, list):
        raise SettingsError(f"{project_file}: 'approvals.deny' must be a list of rules")
    return {**mine, "deny": [*ours, *theirs]}


def _read(file: Path) -> bytes | None:
    try:
        content = read_regular(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from error
    if leads_elsewhere(str(file)):
        from kaa.host.linked_settings import unseen  # lazy: most files lead nowhere else

        changed = unseen(str(file), content)
        if changed is not None:
            raise SettingsError(changed.refusal)
    return content


def _parse(content: bytes | None, name: str) -> dict[str, Json]:
    if content is None or not content.strip():
        return {}
    try:
        return jsonc.decode(content, dict[str, Json])
    except (jsonc.JsoncError, msgspec.ValidationError) as error:
        raise SettingsError(f"{name}: {error}") from error
