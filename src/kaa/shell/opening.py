"""Opens a conversation: settings, project files, session, model, extensions and prompt, put together."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from kaa.builtin import background, commands, prompt, tools, usage_reports
from kaa.core.agent import Agent, AgentConfig
from kaa.core.hooks import ToolHooks
from kaa.core.loop import Limits
from kaa.ext.api import PromptContext, RegisteredTool
from kaa.ext.loader import discover, load_extension
from kaa.ext.registry import Registry
from kaa.llm.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.session.context import SessionContext, build_context
from kaa.session.entries import SessionHeader
from kaa.session.file_store import FileStore
from kaa.session.library import SessionLibrary
from kaa.session.naming import unix_milliseconds
from kaa.session.recorder import SessionRecorder
from kaa.session.store import MemoryStore, SessionStore
from kaa.shell.containment import Containment, contain
from kaa.shell.conversation import Conversation
from kaa.shell.gatekeeper import Gatekeeper
from kaa.shell.home import Home, expanded
from kaa.shell.model_link import ModelLink, link_model
from kaa.shell.models import Models
from kaa.shell.options import ContinueSession, ConversationOptions, NewSession, OpenSession, UnkeptSession
from kaa.shell.project_files import PROJECT_SETTINGS, ProjectFiles, read_project_files
from kaa.shell.reloading import Reloading
from kaa.shell.settings import ApprovalPolicy, ApprovalSettings, Settings, load_settings
from kaa.shell.settings_file import SettingsFile
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.verdict import judge
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.approvals.gate import Gate
    from kaa.shell.approvals.requests import Approver
    from kaa.shell.approvals.rule_file import Rules

Notify = Callable[[str], None]


async def open_conversation(
    options: ConversationOptions,
    *,
    workspace: Workspace,
    home: Home,
    environ: Mapping[str, str],
    notify: Notify,
    approver: "Approver | None" = None,
    configuration: ProjectConfiguration | None = None,
) -> Conversation:
    """Open a conversation about the project in `workspace`.

    Args:
        options: what the user chose for this conversation.
        workspace: the project; stays the caller's to close. There may be several conversations in it.
        home: the user's folder.
        environ: the user's environment variables.
        notify: told, in a sentence, of what is worth knowing and does not stop us.
        approver: who can be asked for a yes; None where nobody is there.
        configuration: what the project would configure, where the user was asked about just that; None surveys it.

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
    project = await _read_project(options, workspace, home, configuration, notify)

    def read_settings() -> Settings:
        return load_settings(home.settings, PROJECT_SETTINGS, project.settings, notify)

    settings = read_settings()
    registry = _load_extensions(options, settings, workspace, home, notify)
    containment = contain(workspace)
    held = await containment.status()  # known by now: the project was read through it
    for warning in held.warnings if held is not None else ():
        notify(warning)
    stop: list[Callable[[], None]] = []  # the agent comes after the gate that can stop it

    def abort() -> None:
        stop[0]()

    gate = _gatekeeper(options, settings, registry, workspace, containment, home, approver, abort)
    active = registry.select_tools(
        options.tools if options.tools is not None else settings.default_tools,
        options.exclude_tools,
        built_in=options.builtin_tools,
    )
    async with AsyncExitStack() as undo:
        store = _open_session(options, settings, workspace.root, home)
        undo.push_async_callback(store.close)
        context = build_context(store)
        date = _date_of(store.header)
        system_prompt = registry.system_prompt(_prompt_context(options, project, workspace, active, date))
        placeholders = _placeholders(workspace, store, date)
        models = ModelRegistry(home.path, environ)
        link = await _link(options, settings, context, models, placeholders, notify)
        undo.push_async_callback(link.close)
        if options.api_key is not None:
            models.use_key(link.resolved.model.provider, options.api_key)
        recorder = SessionRecorder(store, context)
        recorder.model_change(link.resolved.model.provider, link.resolved.model.id)
        recorder.thinking_level_change(link.resolved.thinking)
        agent = Agent(
            provider=link.provider,
            model=link.resolved.model,
            system_prompt=system_prompt,
            tools=[registered.tool for registered in active],
            hooks=_hooks(registry, gate),
            config=_agent_config(options, settings),
            thinking=link.resolved.thinking,
            session_id=store.header.id,
            messages=context.messages,
        )
        stop.append(agent.abort)
        agent.subscribe(recorder.record)  # first, so that whatever is shown is safe
        switch = Models(agent, recorder, link, models, settings.enabled_models, SettingsFile(home.settings))
        reloading = Reloading(settings, read_settings, agent, gate, switch)
        conversation = Conversation(
            agent, registry, store, recorder, link, gate, containment, switch, reloading, workspace
        )
        undo.pop_all()  # from here on the conversation closes what it is made of
    return conversation


def _hooks(registry: Registry, gate: Gatekeeper) -> ToolHooks:
    """What was approved is what runs, and what was blocked is seen first."""
    hooks = registry.hooks
    return ToolHooks((*hooks.before, gate.before), (gate.after, *hooks.after))


def _agent_config(options: ConversationOptions, settings: Settings) -> AgentConfig:
    return AgentConfig(
        steering_mode=settings.steering_mode,
        follow_up_mode=settings.follow_up_mode,
        limits=Limits(max_turns=options.max_turns),
        retry=settings.retry.policy(),
    )


def _gatekeeper(
    options: ConversationOptions,
    settings: Settings,
    registry: Registry,
    workspace: Workspace,
    containment: Containment,
    home: Home,
    approver: "Approver | None",
    abort: Callable[[], None],
) -> Gatekeeper:
    """Who stands between the model and the tools.

    Raises:
        ApprovalsError: a rule is none, or the kept ones cannot be read.
    """
    chosen, kept = settings.approvals, home.path / "approvals.json"

    def parse(approvals: ApprovalSettings) -> "Rules":
        from kaa.shell.approvals.rule_file import parse_rules  # lazy, as the keeper says

        return parse_rules(approvals.allow, approvals.deny, f"{home.settings} or {PROJECT_SETTINGS}: approvals")

    def build(policy: ApprovalPolicy, configured: "Rules") -> "Gate":
        from kaa.shell.approvals.gate import Gate  # lazy, as above
        from kaa.shell.approvals.memory import Memory
        from kaa.shell.approvals.rule_file import RuleFile
        from kaa.workspace.git import Git

        git = Git(workspace)

        async def changed_files() -> Sequence[str] | None:
            changed = await git.changed_files()
            return None if changed is None or changed.more else changed.paths

        return Gate(
            policy=policy,
            memory=Memory(configured, RuleFile(kept)),
            risks={tool.name: tool.risk for tool in registry.tools},
            sandbox=containment,
            approver=approver,
            abort=abort,
            changed_files=changed_files,
        )

    policy = options.approvals or chosen.policy or ("never" if approver is None else "ask")
    keeper = Gatekeeper(policy, chosen, parse, build)
    if chosen.allow or chosen.deny or kept.exists():
        keeper.load()  # a mistake in a rule is told before anything happens
    return keeper


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


def _load_extensions(
    options: ConversationOptions, settings: Settings, workspace: Workspace, home: Home, notify: Notify
) -> Registry:
    """Built-ins first, so that the user's extensions can replace prompt sections and see every hook after them."""
    registry = Registry(workspace, notify)
    for module in (prompt, tools, commands, usage_reports, background):
        registry.load(module.__name__, module.extend, built_in=True)
    found = [*discover(home.extensions), *map(expanded, settings.extensions)] if options.discover_extensions else []
    for path in (*found, *options.extensions):
        registry.load(str(path), load_extension(path))
    return registry


def _open_session(options: ConversationOptions, settings: Settings, cwd: str, home: Home) -> SessionStore:
    configured = expanded(settings.session_dir) if settings.session_dir else None
    library = SessionLibrary(cwd, home.sessions, options.session_dir or configured)
    match options.session:
        case UnkeptSession():
            return MemoryStore(cwd)
        case NewSession():
            return library.create()
        case ContinueSession():
            recent = library.most_recent()
            return library.create() if recent is None else FileStore.open(recent)
        case OpenSession(query=query):
            return FileStore.open(library.resolve(query))


def _date_of(session: SessionHeader) -> str:
    """The day the session started where the user is, as ISO date: it must not change when the session goes on."""
    seconds = unix_milliseconds(session.timestamp) / 1000 or time.time()
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _placeholders(workspace: Workspace, store: SessionStore, date: str) -> dict[str, str]:
    """Values of this run that a cassette must not depend on."""
    return {
        "cwd": workspace.root,
        "home": str(expanded("~")),
        "session": store.header.id,
        "date": date,
    }


async def _link(
    options: ConversationOptions,
    settings: Settings,
    context: SessionContext,
    models: ModelRegistry,
    placeholders: Mapping[str, str],
    notify: Notify,
) -> ModelLink:
    """The model asked for, or that of the session, or the default."""
    for problem in models.problems:
        notify(problem)

    async def link(default_provider: str | None, default_model: str | None) -> ModelLink:
        choice = ModelChoice(
            query=options.model,
            provider=options.provider,
            api_key=options.api_key,
            thinking=options.thinking,
            default_provider=default_provider,
            default_model=default_model,
            default_thinking=context.thinking_level if context.messages else settings.default_thinking_level,
        )
        return await link_model(
            options.wire,
            choice,
            models,
            placeholders=placeholders,
            idle_timeout=settings.http_idle_timeout_ms / 1000,
            notify=notify,
        )

    if context.model is None:
        return await link(settings.default_provider, settings.default_model)
    try:
        return await link(context.model.provider, context.model.id)
    except NoModelError as error:
        notify(f"the session's model {context.model.provider}/{context.model.id} cannot be used: {error.reason}")
        return await link(settings.default_provider, settings.default_model)


def _prompt_context(
    options: ConversationOptions,
    project: ProjectFiles,
    workspace: Workspace,
    active: tuple[RegisteredTool, ...],
    date: str,
) -> PromptContext:
    appended = options.append_system_prompt or (project.append_system_prompt or "",)
    return PromptContext(
        cwd=workspace.root,
        date=date,
        tools=active,
        custom=options.system_prompt if options.system_prompt is not None else project.system_prompt,
        appended=tuple(text for text in appended if text),
        context_files=project.context_files,
    )
