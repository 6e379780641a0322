"""One process of kaa: its projects, its extensions, what the user trusts, and the conversations that are open.

Every frontend opens conversations here. All calls must come from one event loop.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kaa.ext.asking import NOBODY, Asker, AttributingAsker
from kaa.ext.errors import CommandError, ExtensionFailedError
from kaa.ext.extensions import Extensions
from kaa.ext.hooks import SessionEndReason, StartReason
from kaa.ext.places import ExtensionId
from kaa.host.process import current_directory
from kaa.session.errors import SessionError
from kaa.shell.components import (
    FOREIGN_AGENTS,
    ForeignAgent,
    FoundFile,
    enabled_plugins,
    existing,
    user_agent_settings,
    user_hook_places,
    user_lsp_places,
    user_places,
)
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home, session_folder
from kaa.shell.loaded_extensions import LoadedExtensions, load_built_in
from kaa.shell.models.access import ModelAccess
from kaa.shell.opening import Surroundings, open_conversation
from kaa.shell.options import ConversationOptions, HostOptions, switch_kind, switch_target
from kaa.shell.project_files import ServerFile
from kaa.shell.settings import Settings, load_user_settings
from kaa.shell.work_queue import WorkQueue
from kaa.shell.workspaces import Workspaces
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.ext.showing import DisplayOutput
    from kaa.shell.components.extensions import ComponentExtensions
    from kaa.shell.extensions.processes import ExtensionProcesses
    from kaa.shell.mcp.config.entry import ConfiguredServer
    from kaa.shell.mcp.servers import McpServers, Unlisted
    from kaa.shell.mcp.trusted_servers import TrustedServers
    from kaa.shell.sessions import Sessions
    from kaa.shell.trust.configuration import ProjectConfiguration
    from kaa.shell.trust.decisions import TrustDecisions


class HostNotice(msgspec.Struct, frozen=True):
    """Something worth knowing that stops nothing.

    Attributes:
        text: a sentence.
        conversation: the id of the conversation that it is about; None if it is about the process.
        failure: the failure of an extension that the text describes.
    """

    text: str
    conversation: str | None = None
    failure: ExtensionFailedError | None = None


class HostedConversation:
    """A conversation that is open, or was.

    Args:
        view: lets go of what it shares with other conversations.

    Attributes:
        id: tells conversations of one process apart.
        work: what it is asked to do.
        is_open: whether it can be asked; not any more from when `Host.end` begins.
    """

    def __init__(self, id: str, conversation: Conversation, reason: StartReason, view: ExitStack) -> None:  # noqa: A002 - the field's name for it
        self.id = id
        self.conversation = conversation
        self.work = WorkQueue(conversation)
        self.is_open = True
        self._reason = reason
        self._view = view

    async def begin(self) -> None:
        """Run the hooks of extensions for the start. Call it once, before the first message."""
        await self.conversation.begin(self._reason)
        self.work.begin()

    async def close(self, reason: SessionEndReason) -> None:
        """Stop what is under way and close the conversation; see `Host.end`."""
        self.is_open = False
        with self._view:
            waiting = self.conversation.waiting
            self.conversation.leave(waiting)
            given_back = [*waiting, *self.work.unsaid]
            # What a hook still looked at is in neither.
            self.conversation.leave(
                [one for one in await self.work.end() if not any(one is known for known in given_back)]
            )
            await self.conversation.close(reason)


class Host:
    """What one process of kaa shares among its conversations.

    Args:
        notify: told of what is worth knowing and does not stop us.
        display: shows what extensions want to be seen; without it, they are told that nothing can be shown.
    """

    def __init__(
        self,
        options: HostOptions,
        home: Home,
        environ: Mapping[str, str],
        notify: Callable[[HostNotice], None],
        asker: Asker = NOBODY,
        display: "DisplayOutput | None" = None,
    ) -> None:
        self.home = home
        self.workspaces = Workspaces(home, environ, options.extensions)
        self._environ = environ
        self._mcp_options = options.mcp
        self._notify = notify
        self._asker = asker
        self._display = display
        self._extensions = LoadedExtensions(
            options, home, self._tell, self.workspaces.protect, lambda: self._extension_processes, asker
        )
        self._models = ModelAccess(home, environ, self._extensions.loaded, self._tell)
        self._trust: dict[str, TrustDecisions] = {}
        self._conversations: dict[str, HostedConversation] = {}
        self._numbers = count(1)

    @property
    def extensions(self) -> Extensions:
        """What is loaded. Unloading takes an extension from all conversations; loading it again gives it back."""
        return self._extensions.loaded

    @property
    def conversations(self) -> tuple[HostedConversation, ...]:
        """Those that are open, in the order of their opening."""
        return tuple(self._conversations.values())

    def new_id(self) -> str:
        """An id for a conversation to open: its notices and questions carry it, also those from before it is open."""
        return str(next(self._numbers))

    async def open(
        self,
        options: ConversationOptions,
        workspace: Workspace,
        reason: StartReason = "startup",
        *,
        id: str | None = None,  # noqa: A002 - the field's name for it
    ) -> HostedConversation:
        """Open a conversation. Any number can be open at the same time. `HostedConversation.begin` comes next.

        Args:
            workspace: the project; one of `workspaces`, or another one, which stays the caller's to close.
            reason: why, for the hooks of extensions for the start.
            id: from `new_id`; None takes the next.

        Raises:
            TrustError: the project is to be trusted and cannot be, or earlier decisions cannot be read.
            NobodyToAskError: nothing was decided about trust, and nobody can be asked.
            Exception: as `open_conversation` says.
        """
        # Loaded while the hands start, for which `_trusting` may wait. kaa's own extensions are the first: their
        # sections of the prompt are the same in all projects.
        load_built_in(self._extensions.loaded)
        if self._has_servers(()):
            _ = self._mcp_servers
        name = id or self.new_id()
        asker = AttributingAsker(self._asker, conversation=name)
        options, configuration = await self._trusting(options, workspace, asker)

        def decisions() -> "TrustDecisions":
            return self._decisions(workspace)

        def report(failure: ExtensionFailedError) -> None:
            self._notify(HostNotice(str(failure), name, failure))

        with ExitStack() as undo:
            if isinstance(workspace, LocalWorkspace):
                workspace = undo.enter_context(workspace.of_conversation())
            at = Surroundings(
                name,
                workspace,
                self.home,
                self._environ,
                self._telling(name),
                report,
                asker,
                self._display,
                self._extensions,
                self._models,
                decisions,
                self._servers,
                self._components,
            )
            conversation = await open_conversation(options, at, configuration)
            hosted = HostedConversation(name, conversation, reason, undo.pop_all())
        self._conversations[name] = hosted
        return hosted

    def watch_extensions(self) -> None:
        """Load changed and new extensions while conversations wait for the user. Call it when the user sees kaa."""

        def changed() -> None:
            for hosted in self.conversations:
                hosted.work.refresh_extensions()

        self._extensions.watch(changed)

    def stop_loading(self) -> bool:
        """Do without the extensions that take long to load. Returns whether there are any."""
        return self._extensions.stop_loading()

    async def switch(
        self, before: HostedConversation, options: ConversationOptions, workspace: Workspace
    ) -> HostedConversation:
        """Open a conversation, and then end the one before. What waited there is kept for the new one.

        Raises:
            NavigationBlockedError: an extension objects to leaving the conversation before.
            Exception: as `open` says. The conversation before goes on.
        """
        kind = switch_kind(options.session)
        await before.conversation.allow_switch(kind, switch_target(options.session))
        # What is under way in the one before ends only now: another session may not open.
        hosted = await self.open(options, workspace, kind)
        before.is_open = False
        before.conversation.leave([one for one in before.conversation.waiting if one.note is not None])
        hosted.work.keep(await before.work.end())
        try:
            await self.end(before, kind)
        except SessionError as error:
            self._telling(before.id)(str(error))
        try:
            await hosted.conversation.approvals.begin_after(before.conversation.approvals)
        except CommandError as error:
            self._telling(hosted.id)(str(error))
        return hosted

    async def end(self, hosted: HostedConversation, reason: SessionEndReason = "quit") -> None:
        """Stop what is under way in a conversation and close it; nothing if it is closed already.

        Args:
            reason: why, for the hooks of extensions for the end.

        Raises:
            SessionWriteError: the disk failed.
        """
        hosted.is_open = False
        if self._conversations.pop(hosted.id, None) is not None:
            await hosted.close(reason)

    def sessions(self, directory: str, session_dir: Path | None = None) -> "Sessions":
        """All sessions there are, whether one is open or not.

        Args:
            directory: what `here` means, absolute.
            session_dir: one folder for the sessions of all projects; None takes the setting.

        Raises:
            SettingsError: the user's settings have a mistake.
        """
        from kaa.shell.sessions import Sessions  # lazy: only who looks for a session needs it

        configured = load_user_settings(self.home.settings).session_dir
        return Sessions(self.home, directory, session_folder(session_dir, configured))

    async def unlisted_servers(self, seconds: float) -> "Sequence[Unlisted]":
        """Return the MCP servers that have not said for the first time what they offer after so many seconds."""
        return await self._mcp_servers.unlisted(seconds) if "_mcp_servers" in self.__dict__ else ()

    async def close(self) -> None:
        """End all conversations, unload extensions, close workspaces; one step that fails skips no other."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self.workspaces.close)
            closing.push_async_callback(self._models.close)
            closing.push_async_callback(self._close_extensions)
            for hosted in self.conversations:
                closing.push_async_callback(self.end, hosted)

    async def _close_extensions(self) -> None:
        self._extensions.close()
        if "_extension_processes" in self.__dict__:  # there are some
            await self._extension_processes.close()
        if "_mcp_servers" in self.__dict__:
            await self._mcp_servers.close()

    async def _servers(self, root: str, files: Sequence[ServerFile], asker: Asker) -> ExtensionId | None:
        """The MCP servers of a project, as an extension; None if none is configured.

        Raises:
            ExtensionError: one is required where nobody can be asked, and does not start.
        """
        if not self._has_servers(files):
            return None
        if not asker.can_ask:
            await self._mcp_servers.require(root, files)
        return self._mcp_servers.of_project(root, files)[0]

    def _has_servers(self, files: Sequence[ServerFile]) -> bool:
        """Whether MCP servers are configured: in these files of a project, in the user's, or for this run."""
        options = self._mcp_options
        own = (self.home.path / "mcp.json").exists() or self.home.plugin_records.exists()
        return options.enabled and bool(files or options.file or own or self._have_agents_servers())

    def _have_agents_servers(self) -> bool:
        """Whether a definition of an agent, of the user's, defines servers."""
        if not existing([place for place in user_places(self.home.path, FOREIGN_AGENTS) if place.kind == "agent"]):
            return False
        from kaa.shell.components.agent_servers import agent_servers  # lazy: many users have no definitions

        return any(agent_servers(self.home))

    async def _components(
        self,
        root: str,
        files: Sequence[FoundFile],
        server_files: Sequence[ServerFile],
        settings: Settings,
        notify: Callable[[str], None],
        asker: Asker,
    ) -> ExtensionId:
        """What files of kaa, of a project and of the user define, such as skills and hooks, as an extension."""
        agents = settings.use_files_of
        own = user_places(self.home.path, agents, settings.skills, settings.prompts)
        foreign = (*user_agent_settings(agents), *user_lsp_places(agents))
        places = existing((*own, *foreign, *user_hook_places(self.home.path, agents)))
        if self._asker.can_ask:
            await self._tell_of_unused_hooks(agents, notify)
        plugins = enabled_plugins(self.home, notify)
        if not files and not places and plugins is None and not settings.lsp:
            return self._extensions.load_agents(settings.agent_models)

        def servers() -> "Sequence[ConfiguredServer]":
            if not self._has_servers(server_files):
                return ()
            return self._mcp_servers.of_project(root, server_files)[1].configured

        return await self._component_extensions.of_conversation(
            root, files, places, settings, plugins, servers, notify, asker
        )

    async def _tell_of_unused_hooks(self, agents: Sequence[ForeignAgent], notify: Callable[[str], None]) -> None:
        """Tell of the user's hooks of other agents that are not used, if there are files that may have some."""
        others = [agent for agent in FOREIGN_AGENTS if agent not in agents]
        if places := existing(user_hook_places(self.home.path, others)[1:]):  # the first is kaa's own
            from kaa.shell.components.unused_hooks import tell_of_unused_hooks  # lazy: many users have no other agents

            await tell_of_unused_hooks(places, self.home, notify)

    @cached_property
    def _component_extensions(self) -> "ComponentExtensions":
        from kaa.shell.components.extensions import ComponentExtensions  # lazy: many users have no skills

        return ComponentExtensions(self.home, self._extensions.loaded)

    @cached_property
    def _mcp_servers(self) -> "McpServers":
        from kaa.shell.mcp.servers import McpServers, ServerMaker  # lazy: many users have no such servers

        workspaces = self.workspaces
        maker = ServerMaker(
            self.home, self._environ, self._tell, workspaces.are_open_to_all, workspaces.options, self._asker
        )
        return McpServers(self.home, self._mcp_options, self._extensions.loaded, self._tell, maker)

    @cached_property
    def _extension_processes(self) -> "ExtensionProcesses":
        from kaa.shell.extensions.processes import ExtensionProcesses  # lazy: many users have no such extensions

        project = current_directory() or str(self.home.path)  # the directory is gone
        return ExtensionProcesses(
            self.home,
            self._environ,
            project,
            self._tell,
            self.workspaces.are_open_to_all,
            self._extensions.loaded.scopes,
            lambda: self.workspaces.options(project),
        )

    def _tell(self, text: str) -> None:
        self._telling(None)(text)

    def _telling(self, conversation: str | None) -> Callable[[str], None]:
        """Tells of a conversation, or of the process; the user's log too, if there is to be one."""

        def tell(text: str) -> None:
            self._notify(HostNotice(text, conversation))

        if not self._environ.get("KAA_LOG"):
            return tell
        from kaa.shell.logs import start_logging  # lazy: few want it

        return start_logging(self._environ, self.home, tell)

    async def _trusting(
        self, options: ConversationOptions, workspace: Workspace, asker: Asker
    ) -> "tuple[ConversationOptions, ProjectConfiguration | None]":
        """The options with a decision about trust, and what it was about, where that is known."""
        if options.trust is not None and workspace.root not in self._trust:
            return options, None
        decisions = self._decisions(workspace)
        trust, configuration = await decisions.decided(workspace, options.trust, asker)
        return msgspec.structs.replace(options, trust=trust), configuration

    def _decisions(self, workspace: Workspace) -> "TrustDecisions":
        from kaa.shell.trust.decisions import TrustDecisions  # lazy: a run that nobody watches is told what to trust

        if workspace.root not in self._trust:
            self._trust[workspace.root] = TrustDecisions(
                self.home, self._servers_to_trust, offers_registries=not self.workspaces.has_chosen_network(workspace)
            )
        return self._trust[workspace.root]

    def _servers_to_trust(self, configuration: "ProjectConfiguration") -> "TrustedServers | None":
        """The servers of a project that a question about trust covers; None if it configures none."""
        files = configuration.server_files if self._mcp_options.enabled else ()
        return self._mcp_servers.trusted(configuration.root, files) if files else None
