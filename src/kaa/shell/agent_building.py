"""Builds an agent: a model, its prompt and tools, the session it writes into, and the budget it keeps to."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Agent, AgentConfig
from kaa.core.budget import Budget, BudgetUsage
from kaa.core.hooks import AfterTool, Hooks
from kaa.core.messages import AssistantMessage, ImageContent, Message, ToolCall
from kaa.core.provider import Model, Request, ThinkingLevel
from kaa.core.tool import ToolResult
from kaa.ext.asking import Asker
from kaa.ext.registry import joined_sections
from kaa.llm.models.registry import ModelRegistry
from kaa.session.past_usage import past_seconds
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.accounting import Accounting
from kaa.shell.active_tools import ActiveTools
from kaa.shell.budgeting import Budgeting
from kaa.shell.models.fallback import FallbackModels
from kaa.shell.models.link import ModelLink
from kaa.shell.models.switching import Models
from kaa.shell.settings_file import SettingsFile
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.nested_instructions import NestedInstructions

_FILE_TOOLS = frozenset({"read", "edit", "write"})
_BLOCKED = (
    "kaa does not send images to models, because the setting images.blockImages is true: "
    "the model gets a note in place of each image"
)
_UNSUPPORTED = "{model} cannot see images; it gets a note instead"


class AgentModels(msgspec.Struct, frozen=True):
    """The models of an agent.

    Attributes:
        scope: patterns of the models to cycle through; none for all.
        fallback: models that go on where the chosen one is given up.
        settings: where choices are kept that the user wants kept.
        thinking: how hard the user wants models to think, if the one to begin with cannot.
    """

    link: ModelLink
    registry: ModelRegistry
    scope: Sequence[str]
    fallback: Sequence[str]
    settings: SettingsFile
    thinking: ThinkingLevel | None


class AgentSpec(msgspec.Struct, frozen=True):
    """What an agent is made of.

    Attributes:
        messages: what the session gives the model.
        run_budget: what each run may use.
        session_budget: what the session may use.
        context_files: whether it gets instructions that belong to the files it works on.
    """

    models: AgentModels
    tools: ActiveTools
    store: SessionStore
    recorder: SessionRecorder
    messages: Sequence[Message]
    config: AgentConfig
    run_budget: Budget
    session_budget: Budget
    context_files: bool


class BuiltAgent(msgspec.Struct, frozen=True):
    """An agent and what watches over it.

    Attributes:
        agent: the agent; everything it does is recorded.
        fallback: switches it where a model is given up.
    """

    agent: Agent
    models: Models
    fallback: FallbackModels
    accounting: Accounting
    budgeting: Budgeting


def build_agent(spec: AgentSpec, hooks: Hooks, *, notify: Callable[[str], None], asker: Asker) -> BuiltAgent:
    """Build an agent and note in its session with which model it begins.

    Args:
        notify: told, in a sentence, of what is worth knowing.
        asker: asks the person, where a budget is used up.

    Raises:
        SessionReadError: the session cannot be read.
        SessionWriteError: the session cannot be written.
    """
    link, store, recorder = spec.models.link, spec.store, spec.recorder
    recorder.model_change(link.resolved.model.provider, link.resolved.model.id)
    recorder.thinking_level_change(link.resolved.thinking)
    agent = Agent(
        provider=link.provider,
        model=link.resolved.model,
        system_prompt=joined_sections(spec.tools.sections),
        tools=spec.tools.bound(),
        hooks=hooks,
        config=spec.config,
        thinking=link.resolved.thinking,
        session_id=store.header.id,
        messages=spec.messages,
    )
    agent.subscribe(recorder.record)  # first, so that whatever is shown is safe
    models = Models(
        agent, recorder, link, spec.models.registry, spec.models.scope, spec.models.settings, spec.models.thinking
    )
    fallback = FallbackModels(agent, models, spec.models.fallback, notify)
    BlockedImages(agent, models, notify)
    accounting = Accounting(agent, models, store, recorder, lambda: _prompt_parts(spec.tools))
    budgeting = Budgeting(
        agent,
        recorder,
        run=spec.run_budget,
        session=spec.session_budget,
        used=_used(accounting, spec.session_budget, store),
        asker=asker,
    )
    return BuiltAgent(agent, models, fallback, accounting, budgeting)


def nested_instructions(
    spec: AgentSpec, workspace: Workspace, messages: Callable[[], Sequence[Message]], notify: Callable[[str], None]
) -> AfterTool:
    """A hook after tools that adds instructions for the files that a tool read or changed; the last one of all.

    Args:
        notify: told, in a sentence, what is not used.
    """

    @cache
    def nested() -> "NestedInstructions":
        from kaa.shell.nested_instructions import NestedInstructions  # lazy: it waits for the first tool call

        return NestedInstructions(workspace, lambda: spec.tools.prompt.context_files, messages, notify)

    async def after(call: ToolCall, result: ToolResult) -> ToolResult | None:
        return await nested().after(call, result) if spec.context_files and call.name in _FILE_TOOLS else None

    return after


def _used(accounting: Accounting, session: Budget, store: SessionStore) -> BudgetUsage:
    """What earlier runs have used already."""
    past = accounting.report().total
    return BudgetUsage(
        cost=past.usage.cost.total,
        tokens=past.usage.input + past.usage.cache_write + past.usage.output,
        turns=past.replies,
        seconds=0.0 if session.seconds is None else past_seconds(store, store.tree.nodes),
        unpriced=past.unpriced,
    )


def _prompt_parts(tools: ActiveTools) -> list[tuple[str, str]]:
    """The sections of the system prompt by name; each of the user's and the project's files is one of its own."""
    files = [(file.path, file.text) for file in tools.prompt.context_files if not file.paths]
    return [part for name, text in tools.sections for part in (files if name == "context-files" else [(name, text)])]


class BlockedImages:
    """Watches the requests of a conversation.

    Args:
        notify: told, in a sentence.
    """

    def __init__(self, agent: Agent, models: Models, notify: Callable[[str], None]) -> None:
        self._models = models
        self._notify = notify
        self._told: set[str] = set()
        agent.observe_requests(self._observe)

    def _observe(self, request: Request) -> None:
        notice = self._reason(request.model)
        if notice is None or notice in self._told:
            return
        has_images = any(
            isinstance(block, ImageContent)
            for message in request.messages
            if not isinstance(message, AssistantMessage)
            for block in message.content
        )
        if has_images:
            self._told.add(notice)
            self._notify(notice)

    def _reason(self, model: Model) -> str | None:
        """Why a model gets no images."""
        if self._models.in_force.endpoint.tuning.block_images:
            return _BLOCKED
        return None if "image" in model.input else _UNSUPPORTED.format(model=f"{model.provider}/{model.id}")
