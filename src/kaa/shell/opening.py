"""Opens a conversation: settings, project files, session, model, extensions and prompt, put together."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from logging import INFO
from typing import TYPE_CHECKING

from kaa.builtin import (
    background,
    budget_command,
    choice_commands,
    commands,
    compaction_commands,
    naming_commands,
    navigation_commands,
    prompt,
    sharing_commands,
    tools,
    usage_reports,
)
from kaa.core.agent import Agent, AgentConfig
from kaa.core.budget import Used
from kaa.core.hooks import AfterTool, BeforeEnd, BeforeRequest, BeforeTool
from kaa.core.loop import Limits
from kaa.core.messages import ToolCall
from kaa.ext.api import PromptContext, RegisteredTool
from kaa.ext.asking import NOBODY, Asker
from kaa.ext.context import ConversationContext
from kaa.ext.extensions import Extensions
from kaa.ext.loader import load_extension
from kaa.ext.places import discover
from kaa.ext.registry import Registry, joined_sections
from kaa.host.log import LOG
from kaa.llm.models.registry import ModelRegistry
from kaa.session.context import SessionContext, build_context
from kaa.session.entries import SessionHeader
from kaa.session.naming import unix_milliseconds
from kaa.session.past_usage import past_seconds
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.accounting import Accounting
from kaa.shell.active_tools import ActiveTools
from kaa.shell.blocked_images import BlockedImages
from kaa.shell.budgeting import Budgeting, merged
from kaa.shell.checkpoints.travel import FileTravel
from kaa.shell.checkpoints.turns import take_checkpoints
from kaa.shell.compaction.compacting import Compacting
from kaa.shell.compaction.summarizing import Summarizer
from kaa.shell.containment import Containment, contain
from kaa.shell.conversation import Conversation
from kaa.shell.exporting import Exporting
from kaa.shell.gatekeeper import Gatekeeper, appoint
from kaa.shell.home import Home, expanded, session_folder
from kaa.shell.models.fallback import FallbackModels
from kaa.shell.models.link import ModelLink, link_session_model
from kaa.shell.models.switching import Models
from kaa.shell.naming import Naming
from kaa.shell.navigating import Navigation
from kaa.shell.options import ConversationOptions
from kaa.shell.project_files import PROJECT_SETTINGS, ProjectFiles, read_project_files
from kaa.shell.prompt_profile import PromptProfile, profile_for
from kaa.shell.reloading import Reloading
from kaa.shell.session_choice import discard_copy, name_session, open_session
from kaa.shell.session_parts import SessionParts
from kaa.shell.settings import Settings, load_settings
from kaa.shell.settings_file import SettingsFile
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.review import TrustReview
from kaa.shell.trust.verdict import judge
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.trust.decisions import TrustDecisions

Notify = Callable[[str], None]


async def open_conversation(
    options: ConversationOptions,
    *,
    workspace: Workspace,
    home: Home,
    environ: Mapping[str, str],
    notify: Notify,
    asker: Asker = NOBODY,
    trust: "TrustDecisions | None" = None,
) -> Conversation:
    """Open a conversation about the project in `workspace`.

    Args:
        options: what the user chose for this conversation.
        workspace: the project; stays the caller's to close. There may be several conversations in it.
        home: the user's folder.
        environ: the user's environment variables.
        notify: told, in a sentence, of what is worth knowing and does not stop us.
        asker: asks the person.
        trust: what was decided about the project in this process; None where only the options say.

    Raises:
        SettingsError: a settings file has a mistake.
        ApprovalsError: a rule is none, or the kept ones cannot be read.
        TrustError: the project is to be trusted and cannot be, or earlier decisions cannot be read.
        SessionError: the session cannot be found, read or written.
        NoModelError: there is no model to talk to.
        CredentialError: a key cannot be read.
        ExtensionError: an extension cannot be loaded, or its prompt section failed.
        RegistrationError: a tool is asked for that does not exist.
        CassetteError: a recording cannot be written or read.
    """
    notify = _logged(environ, home, notify)
    project = await _read_project(options, workspace, home, None if trust is None else trust.configuration, notify)

    def read_settings() -> Settings:
        return load_settings(home.settings, PROJECT_SETTINGS, project.settings, notify)

    settings = read_settings()
    extensions = _load_extensions(options, settings, home, notify)
    registry = Registry(extensions, ConversationContext(workspace, asker), notify)
    notify, asker = registry.session.announcing(notify), registry.context.asker
    containment = await _contained(workspace, notify)
    stop: list[Callable[[], None]] = []  # the agent comes after the gate that can stop it

    def abort() -> None:
        stop[0]()

    gate = appoint(
        options.approvals,
        settings.approvals,
        registry.risk_of,
        workspace=workspace,
        containment=containment,
        home=home,
        asker=asker,
        abort=abort,
    )
    active = registry.select_tools(
        options.tools if options.tools is not None else settings.default_tools,
        options.exclude_tools,
        built_in=options.builtin_tools,
    )

    async def before_change(call: ToolCall) -> None:
        await checkpoints.before(call)  # which come after the agent whose turns they are of

    async with AsyncExitStack() as undo:
        folder = session_folder(options.session_dir, settings.session_dir)
        store = open_session(options.session, workspace.root, home, folder, environ)
        undo.callback(discard_copy, options.session, store)
        undo.push_async_callback(store.close)
        closing = await undo.enter_async_context(AsyncExitStack())
        context = build_context(store)
        recorder = SessionRecorder(store, context)
        closing.callback(extensions.close)
        closing.push_async_callback(recorder.close)  # last, so that whatever the others do is recorded
        models = ModelRegistry(home.path, environ, settings.tuning, proxy=settings.http_proxy)
        link = await _linked(options, settings, context, models, _placeholders(workspace, store), notify)
        closing.push_async_callback(link.close)
        profile = profile_for(settings.prompt.profile, link.resolved.model.context_window)
        sections = registry.prompt_sections(_prompt_context(options, project, workspace, active, store, profile))
        tools = ActiveTools(registry, [tool.name for tool in active], brief=profile == "short")
        _note_model(recorder, link)
        agent = Agent(
            provider=link.provider,
            model=link.resolved.model,
            system_prompt=joined_sections(sections),
            tools=tools.bound(),
            hooks=_Hooks(registry, gate, before_change),
            config=_agent_config(options, settings),
            thinking=link.resolved.thinking,
            session_id=store.header.id,
            messages=context.messages,
        )
        stop.append(agent.abort)
        agent.subscribe(recorder.record)  # first, so that whatever is shown is safe
        switch = Models(
            agent,
            recorder,
            link,
            models,
            options.models if options.models is not None else settings.enabled_models,
            SettingsFile(home.settings),
            options.thinking or settings.default_thinking_level,
        )
        fallback = FallbackModels(
            agent, switch, settings.fallback_models if options.fallback is None else options.fallback, notify
        )
        BlockedImages(agent, switch, notify)
        accounting = Accounting(agent, switch, store, recorder, _prompt_parts(sections, project))
        budgeting = _budgeting(agent, store, recorder, settings, options, accounting, asker)
        reloading = Reloading(settings, read_settings, agent, gate, switch, fallback, budgeting)
        summarizer = Summarizer(agent, link, switch, store, lambda: reloading.settings)
        checkpoints = take_checkpoints(
            agent, store, recorder, workspace, home, settings.checkpoints, registry.risk_of, notify, asker
        )
        await _trace(settings, agent, store, environ, home, notify, closing)
        await _log(agent, store, workspace, containment, closing)
        session = SessionParts(
            store,
            recorder,
            accounting,
            budgeting,
            Naming(agent, store, recorder, summarizer, lambda: reloading.settings.auto_title),
            Compacting(agent, store, recorder, summarizer, registry, lambda: reloading.settings.compaction),
            Exporting(store, workspace.root, environ, home, folder),
            checkpoints,
            Navigation(
                agent,
                store,
                recorder,
                FileTravel(agent, store, recorder, checkpoints),
                summarizer,
                registry.session.before_navigation,
            ),
        )
        name_session(options.session, session.naming)
        conversation = Conversation(
            agent,
            registry,
            session,
            gate,
            containment,
            switch,
            reloading,
            tools,
            TrustReview(trust, workspace, home, asker),
            closing.pop_all(),
        )
        undo.pop_all()  # from here on the conversation closes what it is made of
    return conversation


async def _linked(
    options: ConversationOptions,
    settings: Settings,
    context: SessionContext,
    models: ModelRegistry,
    placeholders: Mapping[str, str],
    notify: Notify,
) -> ModelLink:
    """The way to the session's model. A key that was given for it serves its provider's other models, too."""
    link = await link_session_model(options, settings, context, models, placeholders, notify)
    if options.api_key is not None and link.resolved.endpoint.api_key == options.api_key:
        models.use_key(link.resolved.model.provider, options.api_key)
    return link


async def _contained(workspace: Workspace, notify: Notify) -> Containment:
    """The sandbox. What it warns of, and finds from now on, is passed on; the project was read through it already."""
    containment = contain(workspace)
    containment.tell(notify)
    held = await containment.status()
    for warning in held.warnings if held is not None else ():
        notify(warning)
    return containment


class _Hooks:
    """Those of extensions as they are at the moment, and kaa's own.

    What was approved is what runs, and what was blocked is seen first.
    """

    def __init__(self, registry: Registry, gate: Gatekeeper, before_change: BeforeTool) -> None:
        self._registry = registry
        self._gate = gate
        self._before_change = before_change

    @property
    def before_request(self) -> Sequence[BeforeRequest]:
        return self._registry.before_request

    @property
    def before(self) -> Sequence[BeforeTool]:
        return (*self._registry.before, self._gate.before, self._before_change)

    @property
    def after(self) -> Sequence[AfterTool]:
        return (self._gate.after, *self._registry.after)

    @property
    def before_end(self) -> Sequence[BeforeEnd]:
        return self._registry.before_end


def _agent_config(options: ConversationOptions, settings: Settings) -> AgentConfig:
    return AgentConfig(
        steering_mode=settings.steering_mode,
        follow_up_mode=settings.follow_up_mode,
        limits=Limits(max_turns=options.max_turns),
        retry=settings.retry.policy(),
        patience=settings.retry.patience(),
    )


def _note_model(recorder: SessionRecorder, link: ModelLink) -> None:
    """Write down which model answers from here on."""
    recorder.model_change(link.resolved.model.provider, link.resolved.model.id)
    recorder.thinking_level_change(link.resolved.thinking)


def _logged(environ: Mapping[str, str], home: Home, notify: Notify) -> Notify:
    """Write a log, if the user wants one. Returns what also logs each notice."""
    if not environ.get("KAA_LOG"):
        return notify
    from kaa.shell.logs import start_logging  # lazy: few want it

    return start_logging(environ, home, notify)


async def _log(
    agent: Agent, store: SessionStore, workspace: Workspace, containment: Containment, closing: AsyncExitStack
) -> None:
    """Log what happens until the conversation is closed, if the user wants a log."""
    if not LOG.isEnabledFor(INFO):
        return
    from kaa.shell.logs import ConversationLog  # lazy, as above

    log = ConversationLog(store.header.id)
    log.opened(agent, None if store.path is None else str(store.path), workspace.root, await containment.status())
    closing.callback(log.closed)


async def _trace(
    settings: Settings,
    agent: Agent,
    store: SessionStore,
    environ: Mapping[str, str],
    home: Home,
    notify: Notify,
    closing: AsyncExitStack,
) -> None:
    """Export spans of what happens until the conversation is closed, if the user wants that."""
    if not settings.otel.enabled:
        return
    from kaa.shell.tracing.starting import start_tracing  # lazy: few want it

    tracing = await start_tracing(settings.otel, agent, store.header.id, environ, home, notify)
    if tracing is not None:
        closing.push_async_callback(tracing.close)


def _budgeting(
    agent: Agent,
    store: SessionStore,
    recorder: SessionRecorder,
    settings: Settings,
    options: ConversationOptions,
    accounting: Accounting,
    asker: Asker,
) -> Budgeting:
    """What may be used, with what earlier runs have used already."""
    session = settings.budget.session.budget()
    past = accounting.report().total
    return Budgeting(
        agent,
        recorder,
        run=merged(settings.budget.run.budget(), options.budget),
        session=session,
        used=Used(
            cost=past.usage.cost.total,
            tokens=past.usage.input + past.usage.cache_write + past.usage.output,
            turns=past.replies,
            seconds=0.0 if session.seconds is None else past_seconds(store, store.tree.nodes),
            unpriced=past.unpriced,
        ),
        asker=asker,
    )


async def _read_project(
    options: ConversationOptions,
    workspace: Workspace,
    home: Home,
    configuration: ProjectConfiguration | None,
    notify: Notify,
) -> ProjectFiles:
    """What the project says, as far as the user trusts it."""
    if configuration is None:
        configuration = await survey(workspace, home)
    verdict = judge(options.trust, configuration, home)
    trusted = configuration if verdict.trusted else None
    project = await read_project_files(workspace, home, trusted, context=options.context_files)
    for notice in (*([verdict.notice] if verdict.notice else []), *project.notices):
        notify(notice)
    return project


def _load_extensions(options: ConversationOptions, settings: Settings, home: Home, notify: Notify) -> Extensions:
    """Built-ins first, so that the user's extensions can replace prompt sections and see every hook after them."""
    extensions = Extensions(notify)
    for module in (
        prompt,
        tools,
        commands,
        choice_commands,
        usage_reports,
        naming_commands,
        navigation_commands,
        sharing_commands,
        compaction_commands,
        background,
        budget_command,
    ):
        extensions.load(module.__name__, module.extend, built_in=True)
    found = [*discover(home.extensions), *map(expanded, settings.extensions)] if options.discover_extensions else []
    for path in (*found, *options.extensions):
        extensions.load(str(path), load_extension(path))
    return extensions


def _date_of(session: SessionHeader) -> str:
    """The day the session started where the user is, as ISO date: it must not change when the session goes on."""
    seconds = unix_milliseconds(session.timestamp) / 1000 or time.time()
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _placeholders(workspace: Workspace, store: SessionStore) -> dict[str, str]:
    """Values of this run that a cassette must not depend on."""
    return {
        "cwd": workspace.root,
        "home": str(expanded("~")),
        "session": store.header.id,
        "date": _date_of(store.header),
    }


def _prompt_parts(sections: Iterable[tuple[str, str]], project: ProjectFiles) -> list[tuple[str, str]]:
    """The sections of the system prompt by name; each of the user's and the project's files is one of its own."""
    files = [(file.path, file.text) for file in project.context_files]
    return [part for name, text in sections for part in (files if name == "context-files" else [(name, text)])]


def _prompt_context(
    options: ConversationOptions,
    project: ProjectFiles,
    workspace: Workspace,
    active: tuple[RegisteredTool, ...],
    store: SessionStore,
    profile: PromptProfile,
) -> PromptContext:
    appended = options.append_system_prompt or (project.append_system_prompt or "",)
    return PromptContext(
        cwd=workspace.root,
        date=_date_of(store.header),
        tools=active,
        custom=options.system_prompt if options.system_prompt is not None else project.system_prompt,
        appended=tuple(text for text in appended if text),
        context_files=project.context_files,
        profile=profile,
    )
