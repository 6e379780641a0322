"""Whether the project may configure and instruct kaa: what the options, an earlier decision or the person says."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from kaa.ext.asking import Asker, NobodyToAskError
from kaa.ext.choices import TrustAnswer, TrustChoice
from kaa.ext.questions import Trust, TrustDecision, TrustText
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.instructions import MAX_INSTRUCTION_BYTES
from kaa.shell.trust.nested import nested_names
from kaa.shell.trust.store import Changed, DeclinedTrust, Trusted, TrustState, TrustStore, Undecided, Untrustable
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.mcp.trusted_servers import TrustedServers

_NOT_USED = "kaa does not use the project's configuration, and the model gets its instructions as information"
_DECIDED: dict[TrustAnswer, str] = {
    "stored": "kaa trusts these files until they change.",
    "yes": "kaa trusts these files until you leave kaa.",
    "no": f"{_NOT_USED}; kaa does not ask again.",
    "forget": f"{_NOT_USED}; kaa asks again at the next start.",
}


class TrustDecisions:
    """The decision of one process about one project.

    Args:
        servers: gives the MCP servers of a project, which a yes can approve, too; None if it configures none.
        offers_registries: whether a yes can permit the package registries, too.
    """

    def __init__(
        self,
        home: Home,
        servers: "Callable[[ProjectConfiguration], TrustedServers | None]" = lambda _: None,
        *,
        offers_registries: bool = True,
    ) -> None:
        self._offers_registries = offers_registries
        self._servers = servers
        self._trusted_digest = ""  # what the person trusts in this process
        self._is_declined = False  # the person does not want to be asked in this process
        self._is_reviewed = False  # the person decided in this process, whatever the options say
        self._nested: tuple[str, ...] = ()  # what a question of this process showed of folders below the project
        self._asking = asyncio.Lock()
        self._home = home

    @property
    def was_asked(self) -> bool:
        """The person has answered in this process."""
        return self._is_declined or self._is_reviewed

    async def decided(
        self, workspace: Workspace, chosen: TrustChoice | None, asker: Asker
    ) -> tuple[TrustChoice, ProjectConfiguration]:
        """What holds for the next session, and for which files. An answer given in this process comes first.

        Args:
            chosen: what the options say; None asks the person where nothing was decided before.
            asker: asks them, once for all conversations.

        Raises:
            TrustError: earlier decisions cannot be read.
            NobodyToAskError: nothing was decided, and nobody can be asked.
        """
        async with self._asking:
            configuration = await survey(workspace, self._home, self._nested)
            if configuration.digest == self._trusted_digest:
                return "yes", configuration
            if chosen == "yes":
                return chosen, await self._with_nested(workspace)
            if chosen is None and not self._is_declined:
                store = TrustStore(self._home)
                if isinstance(store.state(configuration), Undecided | Changed):
                    configuration = await self._with_nested(workspace)
                if isinstance(state := store.state(configuration), Undecided | Changed):
                    answer = await self._ask(_question(configuration, state), configuration, workspace, asker)
                    self._is_declined = answer is None
        if configuration.digest == self._trusted_digest:
            return "yes", configuration
        return "stored" if chosen is None or self._is_reviewed else chosen, configuration

    async def review(self, workspace: Workspace, asker: Asker) -> str:
        """Show what was decided, and ask the person again. Returns what holds now, for people.

        Raises:
            TrustError: earlier decisions cannot be read, or the new one cannot be kept.
        """
        configuration = await self._with_nested(workspace)
        store = TrustStore(self._home)
        state = store.state(configuration)
        if not configuration.exists:
            return "This project has no configuration and no instructions: there is nothing to trust."
        if isinstance(state, Untrustable):
            return f"This project cannot be trusted: {state.reason}."
        status = self._status(configuration, state, store.since(configuration))
        try:
            answer = await self._ask(_question(configuration, state, status), configuration, workspace, asker)
        except NobodyToAskError as error:
            return "\n".join([status, *_named(configuration), str(error)])
        self._is_declined = True  # the person knows of it
        return status if answer is None else _DECIDED[answer]

    async def _with_nested(self, workspace: Workspace) -> ProjectConfiguration:
        """The configuration with the instructions of all folders."""
        self._nested = await nested_names(workspace)
        return await survey(workspace, self._home, self._nested)

    def _status(self, configuration: ProjectConfiguration, state: TrustState, since: str) -> str:
        when = f" since {since}" if since else " before"
        if configuration.digest == self._trusted_digest:
            return "You trust these files until you leave kaa."
        match state:
            case Trusted():
                return f"You have trusted these files{when}; a change ends it."
            case Changed():
                return f"You have trusted an earlier version{when}; the files have changed."
            case DeclinedTrust():
                return f"You have declined trust{when}; kaa does not ask at the start."
        return "Nothing is decided about these files: kaa does not trust them."

    async def _ask(
        self, question: Trust, configuration: ProjectConfiguration, workspace: Workspace, asker: Asker
    ) -> TrustAnswer | None:
        """Ask, and keep the answer. None: the person decides nothing."""
        from kaa.shell.trust.registries import manifests_in, permit_registries  # lazy: projects are seldom asked about

        servers = None if question.is_trusted else self._servers(configuration)
        shown = await servers.find() if servers is not None and asker.can_ask else ()
        offers_registries = self._offers_registries and not question.is_trusted
        manifests = await manifests_in(workspace, self._home) if offers_registries else ()
        lines = tuple(one.lines for one in shown)
        answer = await asker.ask(msgspec.structs.replace(question, servers=lines, manifests=manifests))
        if not isinstance(answer, TrustDecision):
            return None
        if answer.registries and answer.choice == "stored" and manifests:
            permit_registries(workspace)
        store = TrustStore(self._home)
        match answer.choice:
            case "stored":
                store.trust(configuration)
                if servers is not None and shown:
                    servers.approve(shown)
            case "no":
                store.decline(configuration)
            case "forget":
                store.forget(configuration)
        self._trusted_digest = configuration.digest if answer.choice == "yes" else ""
        self._is_reviewed = True
        return answer.choice


def _question(configuration: ProjectConfiguration, state: TrustState, status: str = "") -> Trust:
    question = Trust(
        "Do you trust this project?",
        configuration.root,
        configuration.uses,
        texts=tuple(
            TrustText(
                file.path,
                file.data[:MAX_INSTRUCTION_BYTES].decode("utf-8", errors="replace"),
                len(file.data) > MAX_INSTRUCTION_BYTES,
            )
            for file in configuration.texts
        ),
        is_trusted=isinstance(state, Trusted),
        status=status,
    )
    if not isinstance(state, Changed):
        return question

    difference = state.difference
    return msgspec.structs.replace(
        question,
        title="This project's files have changed. Do you trust them?",
        was_trusted=True,
        added=difference.added,
        changed=difference.changed,
        removed=difference.removed,
        diff=difference.diff,
    )


def _named(configuration: ProjectConfiguration) -> list[str]:
    return [*(f"instructions: {file.path}" for file in configuration.texts), *configuration.uses]
