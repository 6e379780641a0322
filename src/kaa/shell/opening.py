"""Opens a conversation: settings, project files, session, model, extensions and prompt, put together."""

import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache, partial
from logging import INFO
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Agent, AgentConfig
from kaa.core.events import AgentEnd, Event
from kaa.core.hooks import AfterTool, BeforeEnd, BeforeRequest, BeforeTool, MissingTool
from kaa.core.loop import RunLimits
from kaa.core.messages import AssistantMessage, ToolCall
from kaa.ext.api import PromptContext, RegisteredTool
from kaa.ext.asking import Asker
from kaa.ext.calling import Report
from kaa.ext.context import ConversationContext
from kaa.ext.errors import CommandError
from kaa.ext.places import ExtensionId
from kaa.ext.registry import Registry
from kaa.host.log import LOG
from kaa.session.context import SessionContext, build_context
from kaa.session.entries import SessionHeader
from kaa.session.file.file_store import FileStore, agents_folder, unfinished_folder, waiting_path
from kaa.session.naming import unix_milliseconds
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.active_tools import ActiveTools, profile_for
from kaa.shell.agent_building import AgentModels, AgentSpec, BuiltAgent, build_agent, nested_instructions
from kaa.shell.budgeting import merged
from kaa.shell.checkpoints.turns import TurnCheckpoints, take_checkpoints
from kaa.shell.compaction.compacting import Compacting
from kaa.shell.compaction.summarizing import Summarizer
from kaa.shell.components import FoundFile
from kaa.shell.containment import Containment, contain
from kaa.shell.conversation import Conversation
from kaa.shell.gatekeeper import Gatekeeper, create_gatekeeper
from kaa.shell.home import Home, expanded, session_folder
from kaa.shell.loaded_extensions import LoadedExtensions
from kaa.shell.models.access import ModelAccess
from kaa.shell.models.link import link_session_model
from kaa.shell.naming import Naming
from kaa.shell.options import (
    CloneSession,
    ContinueSession,
    ConversationOptions,
    ForkSession,
    ResumeSession,
    ViewSession,
)
from kaa.shell.permissions import ConversationPermissions
from kaa.shell.project_files import PROJECT_SETTINGS, ProjectFiles, ServerFile
from kaa.shell.project_trust import ProjectTrust
from kaa.shell.reloading import Reloading
from kaa.shell.result_limit import limiting
from kaa.shell.session_choice import discard_copy, name_session, open_session
from kaa.shell.session_parts import AgentEvents, OtherSessions, SessionParts
from kaa.shell.settings import Settings, load_settings, load_user_settings
from kaa.shell.settings_file import SettingsFile
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.ext.agents import AgentRunner
    from kaa.ext.showing import ConversationDisplay, DisplayOutput
    from kaa.session.waiting import WaitingMessages
    from kaa.shell.acting.control import Acting, Unasked
    from kaa.shell.approvals.found_files import FoundFiles
    from kaa.shell.exporting import Exporting
    from kaa.shell.extensions.control import ExtensionControl
    from kaa.shell.jobs import Jobs
    from kaa.shell.kept_permissions import KeptPermissions
    from kaa.shell.navigating import Navigation
    from kaa.shell.trust.decisions import TrustDecisions
    from kaa.shell.worktrees.of_conversation import ConversationWorktrees
    from kaa.workspace.checkpoints.contract import Kept


class Surroundings(msgspec.Struct, frozen=True):
    """Where a conversation takes place.

    Attributes:
        workspace: the project, as this conversation sees it; stays the caller's to close.
        notify: told, in a sentence, of what is worth knowing and does not stop us.
        report: gets failures of extensions that do not stop us.
        display: shows what extensions want to be seen.
        decisions: what was decided in this process about trust in the project, and asking again.
        servers: gives the MCP servers of a project, as an extension; None if there are none.
        components: gives the skills, commands, hooks and agents likewise, and tells of those that cannot be used.
        project_extensions: copies of the extensions of the project that the user trusts, and its MCP servers.
    """

    id: str
    workspace: Workspace
    home: Home
    environ: Mapping[str, str]
    notify: Callable[[str], None]
    report: Report
    asker: Asker
    display: "DisplayOutput | None"
    extensions: LoadedExtensions
    models: ModelAccess
    decisions: "Callable[[], TrustDecisions]"
    servers: Callable[[str, Sequence[ServerFile], Asker], Awaitable[ExtensionId | None]]
    components: Callable[
        [str, Sequence[FoundFile], Sequence[ServerFile], Settings, Callable[[str], None], Asker], Awaitable[ExtensionId]
    ]
    project_extensions: tuple[ExtensionId, ...] = ()


class _Project(msgspec.Struct, frozen=True):
    """What the project says, as far as the user trusts it, and the settings in force with it."""

    trust: ProjectTrust
    files: ProjectFiles
    settings: Settings
    read_settings: Callable[[], Settings]


class _Session(msgspec.Struct, frozen=True):
    """A session that was opened."""

    store: SessionStore
    context: SessionContext
    recorder: SessionRecorder
    waiting: "WaitingMessages | None" = None


async def open_conversation(
    options: ConversationOptions, at: Surroundings, configuration: ProjectConfiguration | None = None
) -> Conversation:
    """Open a conversation. Frontends use `kaa.shell.host.Host`.

    Args:
        options: what the user chose for this conversation; without a decision about trust, the project is not trusted.
        configuration: what the project would configure, where the user was asked about just that; None surveys it.

    Raises:
        SettingsError: a settings file has a mistake.
        ApprovalsError: a rule is none, or the kept ones cannot be read.
        TrustError: the project is to be trusted and cannot be, or earlier decisions cannot be read.
        SessionError: the session cannot be found, read or written.
        NoModelError: there is no model to talk to.
        CredentialError: a key cannot be read.
        ExtensionError: an extension cannot be loaded that is required.
        RegistrationError: a tool is asked for that does not exist.
        CassetteError: a recording cannot be written or read.
    """
    project = await _read_project(options, at, configuration)
    settings = project.settings
    extensions, names = await _load_extensions(project, at)
    asker = at.asker
    context = ConversationContext(at.workspace, at.asker, at.id)
    registry = Registry(at.extensions.loaded, context, at.report, names)
    at = msgspec.structs.replace(
        at,
        notify=registry.session.announcing(at.notify),
        asker=registry.context.asker,
        project_extensions=extensions,
    )
    containment = await _contained(at)

    def abort() -> None:
        built.agent.abort()  # which comes after the gate that can stop it

    async def keeps(patterns: Sequence[str], *, name: str = "", kind: str = "") -> "Kept":
        from kaa.workspace.checkpoints.contract import Kept  # lazy: few commands destroy something

        can_be_undone = session.store.path is not None or asker.can_ask  # else nobody comes back to the session
        return await checkpoints.keeps(patterns, name=name, kind=kind) if can_be_undone else Kept(False)

    gate = create_gatekeeper(
        options.approvals,
        settings.approvals,
        registry.tool,
        workspace=at.workspace,
        containment=containment,
        home=at.home,
        asker=at.asker,
        abort=abort,
        keeps=keeps,
        notify=at.notify,
    )

    def select() -> tuple[RegisteredTool, ...]:
        wanted = options.tools if options.tools is not None else settings.default_tools
        return registry.select_tools(wanted, options.exclude_tools, built_in=options.builtin_tools)

    select()  # unknown names are refused before a session is opened

    async def before_change(call: ToolCall) -> None:
        await checkpoints.before(call)  # which come after the agent whose turns they are of

    async with AsyncExitStack() as undo:
        session = _open_session(options, settings, at, undo)
        closing = await undo.enter_async_context(AsyncExitStack())
        closing.push_async_callback(session.recorder.close)  # last, so that whatever the others do is recorded
        _ask_about_found(gate, containment, at.notify, closing)
        models = await _models(options, settings, session, at)
        closing.push_async_callback(models.link.close)
        prompt = _prompt(options, project, session, models, at)
        spec = _agent_spec(options, project, session, models, registry, prompt, select)
        built = build_agent(
            spec,
            _Hooks(
                registry,
                gate,
                before_change,
                limiting(at.workspace),
                nested_instructions(spec, at.workspace, lambda: built.agent.messages, at.notify),
            ),
            notify=at.notify,
            asker=at.asker,
        )
        built.agent.subscribe(partial(_say_where_files_are, containment, at.notify))
        closing.callback(_follow_registrations(registry, spec.tools, built.agent))
        _follow_jobs(built.agent, session, context, containment, at, closing)
        checkpoints = take_checkpoints(
            built.agent,
            session.store,
            session.recorder,
            at.workspace,
            at.home,
            settings.checkpoints,
            registry.risk_of,
            at.notify,
            at.asker,
        )
        await _trace(settings, built, session.store, at, closing)
        await _log(built, session.store, at, containment, closing)
        reloading = Reloading(
            settings,
            at.home.settings,
            project.read_settings,
            built.agent,
            gate,
            built.models,
            built.fallback,
            built.budgeting,
            partial(_refresh_extensions, at.extensions.reload, registry, extensions),
        )
        events, display = AgentEvents(), _display(registry, at, closing)

        @cache
        def agents() -> "AgentRunner":
            from kaa.shell.agents import AgentOrigin, AgentRuns  # lazy: few tools run agents

            origin = AgentOrigin(
                asker,
                registry,
                spec,
                built,
                gate,
                checkpoints,
                at.home,
                at.environ,
                at.notify,
                lambda: reloading.settings,
            )
            return AgentRuns(origin, at.workspace, built.budgeting.child, events.emit)

        parts = _session_parts(options, session, models, built, registry, reloading, checkpoints, events, spec, at)
        name_session(options.session, parts.naming)
        conversation = Conversation(
            built.agent,
            registry,
            parts,
            ConversationPermissions(gate, containment, at.workspace, _kept_permissions(session.store, at)),
            containment,
            built.models,
            reloading,
            spec.tools,
            project.trust,
            closing.pop_all(),
        )
        registry.context.attach(conversation.acting, agents, display)
        undo.pop_all()  # from here on the conversation closes what it is made of
    is_resumed = isinstance(options.session, ContinueSession | ResumeSession)
    if is_resumed and (restored := await conversation.approvals.restore(options.fixed)):
        at.notify(restored)
    return conversation


async def _load_extensions(
    project: _Project, at: Surroundings
) -> tuple[tuple[ExtensionId, ...], tuple[ExtensionId, ...]]:
    """Load what the conversation uses. Returns the extensions of the project, and all."""
    servers = await at.servers(at.workspace.root, project.files.servers, at.asker)
    files = project.files
    components = await at.components(
        at.workspace.root, files.components, files.servers, project.settings, at.notify, at.asker
    )
    extensions = (*project.files.extensions, *(() if servers is None else (servers,)), components)
    return extensions, await at.extensions.load(project.settings, extensions)


def _follow_registrations(registry: Registry, tools: ActiveTools, agent: Agent) -> Callable[[], None]:
    """Follow what extensions register, and their coming and going. Returns a function that ends this."""

    def follow() -> None:
        tools.refresh(agent)
        registry.session.follow()

    return registry.subscribe(follow, registry.session.leave)


async def _follow_extensions(extensions: LoadedExtensions, registry: Registry, notify: Callable[[str], None]) -> None:
    """Load extensions again that changed, and say so."""
    for line in await extensions.follow(registry.names):
        notify(line)


async def _refresh_extensions(
    load: Callable[
        [Sequence[ExtensionId], Settings, Sequence[ExtensionId]],
        Coroutine[None, None, tuple[tuple[ExtensionId, ...], list[str]]],
    ],
    registry: Registry,
    project: Sequence[ExtensionId],
    settings: Settings,
) -> list[str]:
    """Load changed and new extensions, and drop removed ones. Returns what that did, in lines."""
    names, lines = await load(registry.names, settings, project)
    registry.use(names)
    return lines


async def _read_project(
    options: ConversationOptions, at: Surroundings, configuration: ProjectConfiguration | None
) -> _Project:
    trust = ProjectTrust(
        at.workspace,
        at.home,
        options.trust,
        context=options.context_files,
        agents=load_user_settings(at.home.settings, at.workspace.root).use_files_of,
        decisions=at.decisions,
        asker=at.asker,
        notify=at.notify,
    )
    files = await trust.read(configuration)

    def read_settings() -> Settings:
        root, user = at.workspace.root, at.home.settings
        return load_settings(user, root, PROJECT_SETTINGS, files.settings, at.notify, files.denied)

    return _Project(trust, files, read_settings(), read_settings)


def _check_extension_settings(registry: Registry, settings: Settings, at: Surroundings) -> None:
    """Tell at once what an extension cannot use of its settings; it fails where it reads them."""
    if not (declared := registry.settings):
        return
    from kaa.shell.acting.settings import converted  # lazy: few extensions have settings

    for name, kind in declared.items():
        try:
            converted(kind, name, settings.extension_settings, at.home.settings)
        except CommandError as error:
            at.notify(str(error))


def _open_session(options: ConversationOptions, settings: Settings, at: Surroundings, undo: AsyncExitStack) -> _Session:
    """Open the session that was chosen; `undo` closes it, and takes a copy back that was made for it."""
    folder = session_folder(options.session_dir, settings.session_dir)
    store = open_session(options.session, at.workspace.root, at.home, folder, at.environ)
    undo.callback(discard_copy, options.session, store)
    undo.push_async_callback(store.close)
    if isinstance(store, FileStore) and unfinished_folder(store.path).is_dir():
        from kaa.shell.killed_work import tell_of_killed_work  # lazy: few are killed at work that is noted

        is_running = any(process.state == "running" for process in at.workspace.processes.list())
        tell_of_killed_work(store, at.environ, at.notify, somebody_looks=at.asker.can_ask, is_running=is_running)
    waiting = None
    if isinstance(store, FileStore) and waiting_path(store.path).exists():
        from kaa.session.waiting import recover_waiting  # lazy: few are killed while messages wait

        waiting = recover_waiting(store, at.notify, somebody_looks=at.asker.can_ask, was_handed_over=options.goes_on)
    if isinstance(store, FileStore) and len(store.tree) and agents_folder(store.path).is_dir():
        from kaa.shell.lost_agents import tell_of_lost_agents  # lazy: few conversations run agents

        tell_of_lost_agents(store, is_copy=isinstance(options.session, ForkSession | CloneSession))
    if isinstance(options.session, ViewSession) and at.asker.can_ask:
        at.notify("This session is open read-only: /clone continues it in a copy.")
    context = build_context(store)
    return _Session(store, context, SessionRecorder(store, context), waiting)


async def _models(options: ConversationOptions, settings: Settings, session: _Session, at: Surroundings) -> AgentModels:
    """The session's model and the others. A key that was given for it serves its provider's other models, too."""
    registry, live = at.models.registry(settings), at.models.transport(settings)
    if options.fallback:
        from kaa.shell.models.fallback_names import check_names  # lazy: few name other models for a run

        check_names(options.fallback, registry, at.notify, somebody_looks=at.asker.can_ask)
    placeholders = _placeholders(at.workspace, session.store)
    link = await link_session_model(options, settings, session.context, registry, live, placeholders, at.notify)
    if options.api_key is not None and link.resolved.endpoint.api_key == options.api_key:
        registry.use_key(link.resolved.model.provider, options.api_key)
    return AgentModels(
        link,
        registry,
        scope=options.models if options.models is not None else settings.enabled_models,
        fallback=settings.fallback_models if options.fallback is None else options.fallback,
        settings=SettingsFile(at.home.settings),
        thinking=options.thinking or settings.default_thinking_level,
    )


def _prompt(
    options: ConversationOptions,
    project: _Project,
    session: _Session,
    models: AgentModels,
    at: Surroundings,
) -> PromptContext:
    appended = options.append_system_prompt or (project.files.append_system_prompt or "",)
    model = models.link.resolved.model
    return PromptContext(
        cwd=at.workspace.root,
        date=_date_of(session.store.header),
        custom=options.system_prompt if options.system_prompt is not None else project.files.system_prompt,
        appended=tuple(text for text in appended if text),
        context_files=project.files.context_files,
        profile=profile_for(project.settings.prompt.profile, model.context_window),
        conversation_id=at.id,
        features=project.settings.features.for_model(model.provider, model.id),
        unattended=options.unattended,
    )


def _agent_spec(
    options: ConversationOptions,
    project: _Project,
    session: _Session,
    models: AgentModels,
    registry: Registry,
    prompt: PromptContext,
    select: Callable[[], tuple[RegisteredTool, ...]],
) -> AgentSpec:
    return AgentSpec(
        models=models,
        tools=ActiveTools(registry, select, prompt, options.exclude_tools),
        store=session.store,
        recorder=session.recorder,
        messages=session.context.messages,
        config=_agent_config(options, project.settings),
        run_budget=merged(project.settings.budget.run.budget(), options.budget),
        session_budget=project.settings.budget.session.budget(),
        context_files=options.context_files,
    )


def _known_as(name: str, tools: Collection[str]) -> str:
    from kaa.components.tool_names import meant_tool  # lazy: most models use the names that they are given

    return meant_tool(name, tools)


def _agent_config(options: ConversationOptions, settings: Settings) -> AgentConfig:
    return AgentConfig(
        steering_mode=settings.steering_mode,
        follow_up_mode=settings.follow_up_mode,
        limits=RunLimits(max_turns=options.max_turns),
        known_as=_known_as,
        retry=settings.retry.policy(),
        timeouts=settings.retry.timeouts(),
    )


def _session_parts(
    options: ConversationOptions,
    session: _Session,
    models: AgentModels,
    built: BuiltAgent,
    registry: Registry,
    reloading: Reloading,
    checkpoints: TurnCheckpoints,
    agents: AgentEvents,
    spec: AgentSpec,
    at: Surroundings,
) -> SessionParts:
    _check_extension_settings(registry, reloading.settings, at)
    agent, store, recorder = built.agent, session.store, session.recorder
    summarizer = Summarizer(agent, models.link, built.models, store, lambda: reloading.settings)
    folder = session_folder(options.session_dir, reloading.settings.session_dir)

    @cache
    def exporting() -> "Exporting":
        from kaa.shell.exporting import Exporting  # lazy, as below: few turns need it

        return Exporting(store, at.workspace.root, at.environ, at.home, folder)

    @cache
    def navigation() -> "Navigation":
        from kaa.shell.checkpoints.travel import FileTravel
        from kaa.shell.navigating import Navigation

        files = FileTravel(agent, store, recorder, checkpoints)
        allow = registry.session.before_navigation
        return Navigation(agent, store, recorder, files, summarizer, allow, at.notify)

    def extensions() -> "ExtensionControl":
        from kaa.shell.extensions.control import ExtensionControl

        return ExtensionControl(at.extensions, registry, spec.tools, lambda: reloading.settings, at.project_extensions)

    def worktrees() -> "ConversationWorktrees":
        from kaa.shell.worktrees.of_conversation import ConversationWorktrees

        return ConversationWorktrees(at.workspace, at.home, at.environ)

    def acting(unasked: "Callable[[], Unasked | None]", approval_mode: Callable[[], str]) -> "Acting":
        from kaa.shell.acting.control import Acting, ActingParts

        on = ActingParts(
            agent,
            built.models,
            spec.tools,
            naming,
            built.budgeting,
            store,
            recorder,
            summarizer,
            navigation,
            lambda: reloading.settings,
            registry.flag,
            at.home,
            at.workspace.root,
        )
        return Acting(on, at.notify, unasked, approval_mode)

    async def refresh_extensions() -> None:
        load, settings = at.extensions.refresh, reloading.settings
        try:
            lines = await _refresh_extensions(load, registry, at.project_extensions, settings)
        except OSError as error:
            lines = [f"changed extensions were not loaded: {error}"]
        for line in lines:
            at.notify(line)
        await registry.session.settled()

    naming = Naming(agent, store, recorder, summarizer, lambda: reloading.settings.auto_title)
    return SessionParts(
        store,
        recorder,
        built.accounting,
        built.budgeting,
        naming,
        Compacting(agent, store, recorder, summarizer, registry, lambda: reloading.settings.compaction, at.notify),
        exporting,
        checkpoints,
        navigation,
        OtherSessions(at.home, at.workspace.root, folder),
        agents,
        partial(_follow_extensions, at.extensions, registry, at.notify),
        refresh_extensions,
        extensions,
        worktrees,
        acting,
        session.waiting,
        at.notify,
    )


def _display(registry: Registry, at: Surroundings, closing: AsyncExitStack) -> "Callable[[], ConversationDisplay]":
    """Makes what extensions show in the conversation, at the first use."""

    @cache
    def display() -> "ConversationDisplay":
        from kaa.ext.showing import ConversationDisplay  # lazy: few extensions show something

        return ConversationDisplay(at.id, at.display, at.notify)

    def if_used(act: "Callable[[ConversationDisplay], None]") -> None:
        if display.cache_info().currsize:
            act(display())

    closing.callback(registry.subscribe(lambda: if_used(lambda used: used.remove_unloaded(registry.loaded))))
    closing.callback(if_used, lambda used: used.close())
    return display


def _kept_permissions(store: SessionStore, at: Surroundings) -> "Callable[[], KeptPermissions] | None":
    """Where is kept what the user permits in a session; None if nothing is."""
    if not isinstance(store, FileStore):
        return None

    def kept() -> "KeptPermissions":
        from kaa.shell.kept_permissions import KeptPermissions  # lazy: in most sessions nothing is chosen

        return KeptPermissions(at.home.permissions, store.header.id, at.workspace.root)

    return kept


def _ask_about_found(
    gate: Gatekeeper, containment: Containment, notify: Callable[[str], None], closing: AsyncExitStack
) -> None:
    """Ask about files that were moved away beside all calls, until the conversation is closed."""

    @cache
    def files() -> "FoundFiles":
        from kaa.shell.approvals.found_files import FoundFiles  # lazy: few files are moved away so

        return FoundFiles(lambda found: gate.load().offer_found(found), notify)

    async def close() -> None:
        if files.cache_info().currsize:
            await files().close()

    containment.ask(lambda found, forget: files().add(found, forget))
    closing.push_async_callback(close)


def _follow_jobs(
    agent: Agent,
    session: _Session,
    context: ConversationContext,
    containment: Containment,
    at: Surroundings,
    closing: AsyncExitStack,
) -> None:
    """Tell of background jobs that end, until the conversation is closed, and then note those that end with kaa."""

    @cache
    def jobs() -> "Jobs":
        from kaa.shell.jobs import Jobs  # lazy: few conversations have background jobs

        return Jobs(agent, session.store, session.recorder, context, at.notify, lambda: containment.open_ports)

    def close() -> None:
        if jobs.cache_info().currsize:
            jobs().close(somebody_looks=at.asker.can_ask)
        elif isinstance(session.store, FileStore) and unfinished_folder(session.store.path).is_dir():
            from kaa.session.unfinished import closed_in_order  # lazy: few conversations leave work behind

            closed_in_order(session.store.path, is_told=True)

    closing.callback(close)
    closing.callback(at.workspace.processes.watch(lambda process: jobs().changed(process)))


async def _contained(at: Surroundings) -> Containment:
    """The sandbox. What it warns of, and finds from now on, is passed on; the project was read through it already."""
    containment = contain(at.workspace)
    containment.tell(at.notify)
    held = await containment.status()
    for warning in held.warnings if held is not None else ():
        at.notify(warning)
    containment.tell_left()
    return containment


def _say_where_files_are(containment: Containment, notify: Callable[[str], None], event: Event) -> None:
    """At the end of a run, tell the real path of files that the last words name by a path in the private /tmp."""
    if isinstance(event, AgentEnd):
        replies = (message.text for message in reversed(event.messages) if isinstance(message, AssistantMessage))
        for path, outside in containment.real_paths(next(replies, "")).items():
            notify(f"{path} is {outside}: commands have their own /tmp. kaa keeps it for 7 days.")


class _Hooks:
    """Those of extensions as they are at the moment, and kaa's own.

    What was approved is what runs, and what was blocked is seen first.
    """

    def __init__(
        self,
        registry: Registry,
        gate: Gatekeeper,
        before_change: BeforeTool,
        limit: AfterTool,
        nested: AfterTool,
    ) -> None:
        self._registry = registry
        self._nested = nested
        self._gate = gate
        self._before_change = before_change
        self._limit = limit

    @property
    def before_request(self) -> Sequence[BeforeRequest]:
        return self._registry.run.before_request

    @property
    def before(self) -> Sequence[BeforeTool]:
        return (*self._registry.run.before, self._gate.before, self._before_change)

    @property
    def after(self) -> Sequence[AfterTool]:
        return (self._gate.after, self._limit, *self._registry.run.after, self._limit, self._nested)

    @property
    def missing_tool(self) -> Sequence[MissingTool]:
        return self._registry.run.missing_tool

    @property
    def before_end(self) -> Sequence[BeforeEnd]:
        return self._registry.run.before_end


async def _trace(
    settings: Settings, built: BuiltAgent, store: SessionStore, at: Surroundings, closing: AsyncExitStack
) -> None:
    """Export spans of what happens until the conversation is closed, if the user wants that."""
    if not settings.otel.enabled:
        return
    from kaa.shell.tracing.starting import start_tracing  # lazy: few want it

    tracing = await start_tracing(settings.otel, built.agent, store.header.id, at.environ, at.home, at.notify)
    if tracing is not None:
        closing.push_async_callback(tracing.close)


async def _log(
    built: BuiltAgent, store: SessionStore, at: Surroundings, containment: Containment, closing: AsyncExitStack
) -> None:
    """Log what happens until the conversation is closed, if the user wants a log."""
    if not LOG.isEnabledFor(INFO):
        return
    from kaa.shell.logs import ConversationLog  # lazy: few want it

    log = ConversationLog(store.header.id)
    path = None if store.path is None else str(store.path)
    log.opened(built.agent, path, at.workspace.root, await containment.status())
    closing.callback(log.closed)


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
