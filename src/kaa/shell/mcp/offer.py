"""What a server offers, as far as the user has approved the server and its tools."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from kaa.builtin.mcp.host import ServerUnavailableError
from kaa.ext.asking import Asker, NobodyToAskError, confirm
from kaa.ext.tools import Risk
from kaa.host.log import LOG
from kaa.mcp.manifest import ServerManifest, ToolInfo
from kaa.shell.mcp.approvals import ApprovalRecordsError, Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.manifests import ServerManifests

_MAX_NAMED = 10  # files, where nobody approves them


class Offer:
    """What one server offers. Of one that is not approved, nothing is known.

    Args:
        server: the server.
        approvals: what the user approved.
        manifests: what servers offered.
        describe: says what it is and may do, for the question before a server of a project starts, in lines.
        risk: gives the risk of a tool, from the server's rights and the tool's hints.
        changed: called when it is approved, or its changes are.
        project: the directory of the project.
        executed: finds out what it executes and commands can write, as `code_of` says it; None if that is nothing.
        is_like_a_command: says whether it can do no more than a command of the model, whatever it executes.
        is_attended: says whether somebody can be asked in this process, if not for each start.

    Attributes:
        code: what `executed` found at the last start.
        is_code_approved: whether the user approved that, and it does not only do no more than a command.
        manifest: what it offered when it was last listed; None if that is not known.
        changes: how the tools changed that are held back, by name.
        fault: why it is not known what the user accepted, so that all tools are held back; empty if it is.
    """

    def __init__(
        self,
        server: ConfiguredServer,
        approvals: Approvals,
        manifests: ServerManifests,
        describe: Callable[[], str],
        risk: Callable[[ToolInfo], Risk],
        changed: Callable[[], None],
        project: str = "",
        executed: Callable[[], Mapping[str, str]] | None = None,
        is_like_a_command: Callable[[Mapping[str, str]], bool] = lambda _: False,
        is_attended: Callable[[], bool] = lambda: False,
    ) -> None:
        self._server = server
        self._approvals = approvals
        self._manifests = manifests
        self._describe = describe
        self._risk = risk
        self._changed = changed
        self._project = project
        self._executed = executed
        self._is_like_a_command = is_like_a_command
        self._is_attended = is_attended
        self._declined = False
        self._declined_code: Mapping[str, str] = {}
        self.code: Mapping[str, str] = {}
        self.is_code_approved = True
        self.manifest: ServerManifest | None = None
        self._wanted: tuple[ServerManifest, ServerManifest, Mapping[str, Risk]] | None = (
            None  # a manifest, and what of it is used
        )
        self.changes: Mapping[str, str] = {}
        self.fault = ""
        self._hides_instructions = False
        self.is_approved = _safely(approvals.is_approved, server)
        if self.is_approved:
            self._use(manifests.read(server))

    @property
    def may_start(self) -> bool:
        """Whether the server can start without a question."""
        return self.is_approved and self._server.entry.enabled

    async def approve(self, asker: Asker) -> None:
        """Ask whether the server may start, unless that was answered.

        Raises:
            ServerUnavailableError: it may not.
        """
        if not self._server.entry.enabled:
            raise ServerUnavailableError(f"MCP server {self._server.name} is disabled in {self._server.source.file}")
        if self.is_approved:
            return
        if not _safely(self._approvals.is_approved, self._server):  # else by `kaa mcp approve` meanwhile
            await self._ask(asker)
        self.is_approved, self._declined = True, False
        self._use(self._manifests.read(self._server))
        self._changed()

    async def admit(self, asker: Asker) -> None:
        """Ask whether the server may execute what commands can write, as it is now, unless that was answered.

        Raises:
            ServerUnavailableError: it may not.
        """
        name, code = self._server.name, await self._found_code()
        is_approved = True
        try:
            if code and code != (accepted := self._approvals.code(self._server, self._project, code)):
                is_attended = asker.can_ask or self._is_attended()
                if accepted and not is_attended and await self._may_change(code):
                    is_approved = False
                    LOG.info("mcp: %s starts with code that changed: it can do no more than a command", name)
                else:
                    await self._ask_code(asker, accepted, code)
                    self._approvals.accept_code(self._server, self._project, code)
        except ApprovalRecordsError as error:
            raise ServerUnavailableError(f"MCP server {name} is not started: {error}") from error
        self.code, self.is_code_approved = code, is_approved

    async def code_changed(self) -> bool:
        """Whether the server may execute something else by now than was admitted.

        Raises:
            ServerUnavailableError: what it may execute cannot be known.
        """
        return await self._found_code() != self.code

    def learn(self, manifest: ServerManifest) -> None:
        """The server has listed what it offers."""
        self._manifests.write(self._server, manifest)
        self._use(manifest)

    def accept_changes(self, shown: Mapping[str, str]) -> None:
        """The user has seen how the server changed, and accepts it.

        Args:
            shown: `changes` as the user has seen them.

        Raises:
            ApprovalRecordsError: that cannot be kept.
            ServerUnavailableError: the server has changed again since then.
        """
        if shown is not self.changes:
            raise ServerUnavailableError(
                f"MCP server {self._server.name} changed again while you looked, so nothing is accepted:"
                f" /mcp changes {self._server.name} shows it"
            )
        if self.manifest is not None:
            self._approvals.accept(self._server, self.manifest)
            self.changes, self.fault = {}, ""
            self._hides_instructions, self._wanted = False, None
            self._changed()

    def used(self) -> tuple[ServerManifest | None, Mapping[str, Risk]]:
        """What it offers, as far as the entry wants it, and the risks of its tools: the same until it changes."""
        if self.manifest is None:
            return None, {}
        if self._wanted is None or self._wanted[0] is not self.manifest:
            used = self._chosen_of(self.manifest)
            self._wanted = self.manifest, used, {one.name: self._risk(one) for one in used.tools}
        return self._wanted[1:]

    async def _ask(self, asker: Asker) -> None:
        name = self._server.name
        how = f"`kaa mcp approve {name}` approves it"
        if self._server.source.scope == "run":
            how = "kaa asks in the terminal. A script can name a copy that is in no project"
        declined = f"MCP server {name} is not started: you declined it. {how}"
        if self._declined:
            raise ServerUnavailableError(declined)
        changed = _safely(self._approvals.was_approved, self._server)
        scope = self._server.source.scope
        whose, what = {
            "project": ("of this project", "the project's"),
            "agent": ("of your definition of an agent", "a definition of an agent"),
        }.get(scope, ("of yours", "yours, but lies in a project or is a hard link, so that commands could write it"))
        again = ", which was configured anew since you approved it" if changed else ""
        try:
            question = f"Start MCP server {name} {whose}{again}?"
            code = await self._found_code()
            text = "\n".join((self._describe(), *_code_lines({}, code)))
            yes = await confirm(asker, question, text, only_person=True)
        except NobodyToAskError as error:
            raise ServerUnavailableError(
                f"MCP server {name} is not started: {self._server.source.file} is {what}, and you have not approved"
                f" it. {how}"
            ) from error
        if not yes:
            self._declined = True
            raise ServerUnavailableError(declined)
        try:
            self._approvals.approve(self._server, self._project, code)
        except ApprovalRecordsError as error:
            raise ServerUnavailableError(str(error)) from error

    async def _may_change(self, code: Mapping[str, str]) -> bool:
        try:
            return await asyncio.to_thread(self._is_like_a_command, code)
        except (OSError, ValueError):  # what it may read is not known
            return False

    async def _found_code(self) -> Mapping[str, str]:
        if self._executed is None:
            return {}
        try:
            return await asyncio.to_thread(self._executed)
        except (OSError, ValueError) as error:
            raise ServerUnavailableError(f"MCP server {self._server.name} is not started: {error}") from error

    async def _ask_code(self, asker: Asker, accepted: Mapping[str, str], code: Mapping[str, str]) -> None:
        name = self._server.name
        what = (
            "changed since you approved it" if accepted else "can be changed by commands, and you have not approved it"
        )
        reason = f"MCP server {name} is not started: code in a project that it executes {what}"
        how = f"`kaa mcp approve {name}` shows and approves it"
        if code == self._declined_code:
            raise ServerUnavailableError(f"{reason}. You declined it. {how}")
        lines = _code_lines(accepted, code)
        again = ", whose code changed" if accepted else ", which executes code of a project"
        try:
            yes = await confirm(
                asker, f"Start MCP server {name}{again}?", "\n".join((*lines, self._describe())), only_person=True
            )
        except NobodyToAskError as error:
            named = lines[1 : 1 + _MAX_NAMED]
            more = [f"and {len(lines) - 1 - _MAX_NAMED} more"] if len(lines) - 1 > _MAX_NAMED else []
            raise ServerUnavailableError(f"{reason} ({'; '.join((*named, *more))}). {how}") from error
        if not yes:
            self._declined_code = code
            raise ServerUnavailableError(f"{reason}. You declined it. {how}")

    def _use(self, manifest: ServerManifest | None) -> None:
        before, self.manifest, self.fault = self.manifest, manifest, ""
        self._wanted = None
        try:
            self._hides_instructions = manifest is not None and self._approvals.has_new_instructions(
                self._server, manifest
            )
            changes = {} if manifest is None else self._approvals.held(self._server, manifest)
            if (manifest, changes) != (before, self.changes):  # else they may be shown to the user right now
                self.changes = changes
        except ApprovalRecordsError as error:
            self.fault, self._hides_instructions = str(error), True
            self.changes = {tool.name: self.fault for tool in manifest.tools} if manifest is not None else {}

    def _chosen_of(self, manifest: ServerManifest) -> ServerManifest:
        entry = self._server.entry
        if self._hides_instructions:  # the model gets them when the user has seen them
            manifest = msgspec.structs.replace(manifest, instructions="")
        if not (entry.tools or entry.exclude_tools):
            return manifest
        from fnmatch import fnmatchcase

        def wanted(name: str) -> bool:
            chosen = not entry.tools or any(fnmatchcase(name, one) for one in entry.tools)
            return chosen and not any(fnmatchcase(name, one) for one in entry.exclude_tools)

        return msgspec.structs.replace(manifest, tools=tuple(one for one in manifest.tools if wanted(one.name)))


def _safely(ask: Callable[[ConfiguredServer], bool], server: ConfiguredServer) -> bool:
    """False where the record cannot be read: nothing is approved then."""
    try:
        return ask(server)
    except ApprovalRecordsError as error:
        LOG.warning("mcp: %s", error)
        return False


def _code_lines(accepted: Mapping[str, str], code: Mapping[str, str]) -> list[str]:
    if not code:
        return []
    from kaa.shell.mcp.describing import described_code  # lazy: few servers execute code of a project

    return described_code(accepted, code)
