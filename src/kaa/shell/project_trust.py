"""Keeps what instructs the model in step with the user's trust in the project, while a conversation goes on."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Agent
from kaa.ext.asking import Asker
from kaa.ext.choices import TrustChoice
from kaa.ext.errors import CommandError
from kaa.shell.active_tools import ActiveTools
from kaa.shell.components import ForeignAgent
from kaa.shell.home import Home
from kaa.shell.project_files import ProjectFiles, project_files
from kaa.shell.trust.configuration import ProjectConfiguration, TrustError, survey
from kaa.shell.trust.verdict import judge
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.trust.decisions import TrustDecisions


class ProjectTrust:
    """What one conversation uses of its project's files.

    Args:
        agents: other agents whose instructions of the user are used, too.
        notify: told what is not used, and why.
    """

    def __init__(
        self,
        workspace: Workspace,
        home: Home,
        chosen: TrustChoice | None,
        *,
        context: bool,
        agents: Sequence[ForeignAgent],
        decisions: "Callable[[], TrustDecisions]",
        asker: Asker,
        notify: Callable[[str], None],
    ) -> None:
        self._workspace = workspace
        self._home = home
        self._chosen = chosen
        self._context = context
        self._agents = agents
        self._decisions = decisions
        self._asker = asker
        self._notify = notify
        self._told: set[str] = set()
        self._files = ProjectFiles()

    async def read(self, configuration: ProjectConfiguration | None) -> ProjectFiles:
        """What the conversation uses when it is opened.

        Args:
            configuration: what the decision in the options was about; None reads it.

        Raises:
            TrustError: the project is to be trusted and cannot be, or earlier decisions cannot be read.
        """
        if configuration is None:
            names: Sequence[str] = ()
            if self._chosen == "yes" and self._context:
                from kaa.shell.trust.nested import nested_names  # lazy: most runs have no --trust

                names = await nested_names(self._workspace)
            configuration = await survey(self._workspace, self._home, names)
            was_asked = False
        else:
            was_asked = self._decisions().was_asked
        self._files = await self._judged(self._chosen or "no", configuration, was_asked=was_asked)
        return self._files

    async def review(self, tools: ActiveTools, agent: Agent) -> str:
        """Ask the person about trust. Returns what holds now.

        Raises:
            CommandError: earlier decisions cannot be read, or the new one cannot be kept.
        """
        try:
            reviewed = await self._decisions().review(self._workspace, self._asker)
        except TrustError as error:
            raise CommandError(str(error)) from error
        return "\n".join([reviewed, *await self.renew(tools, agent)])

    async def renew(self, tools: ActiveTools, agent: Agent) -> list[str]:
        """Read the instructions again; they hold from the next run on. Returns what changes, in lines.

        Raises:
            CommandError: earlier decisions cannot be read.
        """
        try:
            choice, configuration = await self._decisions().decided(self._workspace, self._chosen or "no", self._asker)
            files = await self._judged(choice, configuration)
        except TrustError as error:
            raise CommandError(str(error)) from error
        lines: list[str] = []
        if files.context_files != self._files.context_files:
            tools.instruct(files.context_files, agent)
            lines.append(
                "The changed instructions take effect with your next message; it does not use the prompt cache."
            )
        if files.configuration != self._files.configuration:
            lines.append("The project's configuration changes with the next session (/new).")
        self._files = files
        return lines

    async def _judged(
        self, choice: TrustChoice, configuration: ProjectConfiguration, *, was_asked: bool = False
    ) -> ProjectFiles:
        verdict = judge(choice, configuration, self._home)
        if was_asked and configuration.problem is None:
            verdict = msgspec.structs.replace(verdict, unused=None, was_asked=True)
        files = await project_files(self._home, configuration, verdict, context=self._context, agents=self._agents)
        unused = self._news(configuration) if configuration.components.unused else ()
        told = () if verdict.was_asked else unused  # the question shows them
        for notice in (*([verdict.notice] if verdict.notice else []), *files.notices, *told):
            if notice not in self._told:
                self._told.add(notice)
                self._notify(notice)
        return files

    def _news(self, configuration: ProjectConfiguration) -> tuple[str, ...]:
        """Settings of other agents that kaa does not use, in sentences; nothing if the user knows of all of them."""
        from kaa.shell.told_once import ToldOnce  # lazy: few projects have such settings

        unused = configuration.components.unused
        # Claude Code adds an entry with each "always allow": how many there are is no news.
        state = {configuration.root: re.sub(r"\(\d+ entr(?:y|ies)\)", "", "\n".join(unused)).encode()}
        return unused if ToldOnce(self._home, "unused-settings").news(state) else ()
