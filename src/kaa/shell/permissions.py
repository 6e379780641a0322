"""What the tools of a conversation may do without a question: approvals and the sandbox, changed together by the user.

The kernel holds `read-only`. The gate then denies what would need an answer: whoever wants nothing changed wants no
questions about changes either.
"""

import os.path
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from kaa.ext.errors import CommandError
from kaa.host.paths import is_below
from kaa.shell.containment import Containment
from kaa.shell.gatekeeper import Gatekeeper
from kaa.shell.settings import ApprovalPolicy, SettingsError
from kaa.workspace.protocol import Workspace
from kaa.workspace.sandbox.options import ConfinedMode, PortsMode, SandboxChange

if TYPE_CHECKING:
    from kaa.shell.kept_permissions import KeptPermissions
    from kaa.shell.session_values import SessionValues

_READ_ONLY: Final = "read-only"
_PLAN: Final = "plan"  # for the sandbox and the gate the same; the agent plans (`kaa.builtin.plan`)
_CYCLE = (_PLAN, "ask", "auto")


class SessionPermissions(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """What the user chose in a session and differs from what it began with; None for what does not.

    Attributes:
        approvals: who is asked before what.
        mode: what may be written at all.
        network: what may be reached, as `--net` takes it.
        writable: directories that were added, absolute.
        git: whether `.git` may be written, but for what executes.
        ports: whether servers of commands are opened.
        plans: whether read-only is the mode `plan`.
        answered: hosts that answers to questions permitted, which end with kaa: to be told.
        services: services of the machine that commands could reach, which end with kaa, too: to be told.
    """

    approvals: ApprovalPolicy | None = None
    mode: ConfinedMode | None = None
    network: str | None = None
    writable: tuple[str, ...] = ()
    git: bool | None = None
    ports: PortsMode | None = None
    plans: bool | None = None
    answered: str = ""
    services: tuple[str, ...] = ()


def _resumed(done: Sequence[str], chosen: SessionPermissions) -> Iterator[str]:
    """What is to be told when a session is resumed, in sentences."""
    if done:
        yield f"Restored from this session: {', '.join(done)}. /approvals, /net, /add-dir and /settings change it."
    if chosen.answered:
        yield f"Your answers about hosts ended with the kaa that asked: {chosen.answered}. kaa asks again."
    if chosen.services:
        named = ", ".join(chosen.services)
        yield f"Commands could reach services of this machine until kaa ended: {named}. /allow permits them again."


class ConversationPermissions:
    """Implements `kaa.ext.choices.SessionApprovals`. All calls must come from the conversation's event loop.

    Args:
        kept: gives the place where the user's choices are kept; None where the session is not kept.

    Attributes:
        beside: how many agents work in the background.
    """

    def __init__(
        self,
        gate: Gatekeeper,
        containment: Containment,
        workspace: Workspace,
        kept: "Callable[[], KeptPermissions] | None" = None,
    ) -> None:
        self._gate = gate
        self._containment = containment
        self._workspace = workspace
        self._kept = kept
        self.beside: Callable[[], int] = lambda: 0
        self._initial = self._state
        self._saved: SessionPermissions | None = self._initial  # None: not what was kept last
        self._is_lent = False  # the mode in force is only that of one run
        self._reads_only = False  # `plan` or `read-only` was chosen in this session
        self._usual: ApprovalPolicy | None = None  # what was chosen before `plan` or `read-only`; None: the default

    @property
    def policy(self) -> str:
        if self._containment.mode != _READ_ONLY:
            return self._gate.policy
        return _PLAN if self._gate.plans else _READ_ONLY

    @property
    def policies(self) -> Mapping[str, str]:
        return {
            _PLAN: "as read-only, and kaa writes a plan for you to approve",
            _READ_ONLY: "commands can write only /tmp and caches; kaa asks nothing",
            **self._gate.policies,
        }

    @property
    def explained(self) -> str | None:
        """What the default means, for the first start; None where there is nothing to explain."""
        return None if self._containment.mode == _READ_ONLY else self._gate.explained

    async def choose(self, policy: str) -> str:
        told = await self._choose(policy)
        self.keep()
        return told

    async def cycle(self) -> str:
        """Set the next mode of `plan`, `ask` and `auto`; without a sandbox, of the last two. Returns as `choose`.

        Raises:
            CommandError: it cannot be set.
        """
        await self._containment.settle()
        holds = self._containment.confined and self._containment.mode != "full-access"
        modes = _CYCLE if holds else _CYCLE[1:]
        before = self.policy
        after = modes[(modes.index(before) + 1) % len(modes)] if before in modes else "ask"
        told = await self.choose(after)
        return told if holds else f"{told}\nplan needs a sandbox, and none is in force: `kaa doctor` tells why"

    async def leave_plan(self) -> str:
        if self._containment.mode == _READ_ONLY:
            await self.change(SandboxChange(mode="workspace-write"))
            self._gate.restore(self._usual)
            self._gate.plans = self._is_lent = self._reads_only = False
            self.keep()
        return self.policy

    async def begin_after(self, other: "ConversationPermissions") -> None:
        """Let files be changed again if only the session before had `plan` or `read-only`. Both have one sandbox.

        Raises:
            CommandError: the sandbox cannot be changed.
        """
        if other._reads_only and not self._reads_only and self._containment.mode == _READ_ONLY:
            await self.change(SandboxChange(mode="workspace-write"))
            self.begin_with("mode")

    @asynccontextmanager
    async def reading_only(self) -> AsyncIterator[None]:
        """Let nothing be changed meanwhile, where a sandbox holds. A mode that the user chooses meanwhile stays.

        Raises:
            CommandError: the sandbox cannot be changed.
        """
        try:
            await self._containment.settle()
        except OSError as error:
            raise CommandError(str(error)) from error
        before, choice = self._containment.mode, self._gate.choice
        if before != "workspace-write" or not self._containment.confined:
            yield
            return
        await self._choose(_READ_ONLY)
        self._is_lent = True
        try:
            yield
        finally:
            if self._is_lent:
                self._is_lent = self._reads_only = False
                await self.change(SandboxChange(mode=before))
                self._gate.restore(choice)

    @contextmanager
    def allowing(self, rules: Sequence[str]) -> Iterator[None]:
        """Let calls of the conversation need no question meanwhile. See `kaa.ext.commands.Submit.allow`.

        Raises:
            CommandError: a rule is none, or is about something else.
        """
        with ExitStack() as granted:
            try:
                granted.enter_context(self._gate.granting(rules))
            except (ValueError, SettingsError) as error:
                raise CommandError(str(error)) from error
            yield

    @property
    def directories(self) -> tuple[str, ...]:
        return (self._workspace.root, *self._containment.added)

    async def add_directory(self, path: str) -> str:
        """Let a directory be written from the next call on. Returns what that did.

        Args:
            path: of the directory; absolute, from `~`, or relative to the project.

        Raises:
            CommandError: it cannot be added.
        """
        absolute, is_writable = self._find(path)
        if is_writable:
            return f"{absolute} can be written already"
        await self.change(SandboxChange(writable=(absolute,)))
        self.keep()
        if self._containment.mode == _READ_ONLY:
            return f"{absolute} can be written when the mode is not read-only"
        return f"{absolute} can be written now, except its protected files"

    async def change(self, change: SandboxChange) -> None:
        """Change the sandbox, from the next call on.

        Raises:
            CommandError: it cannot be changed.
        """
        try:
            await self._containment.settle()
            await self._containment.change(change)
        except OSError as error:
            raise CommandError(str(error)) from error

    def begin_with(self, field: str) -> None:
        """Take what is in force for what the session begins with: the settings say it too."""
        self._initial = msgspec.structs.replace(self._initial, **{field: getattr(self._state, field)})
        self._saved = None

    @property
    def values(self) -> "SessionValues":
        """The same as values of settings."""
        from kaa.shell.session_values import SessionValues  # lazy: few conversations change settings

        return SessionValues(self, self._gate, self._containment, self._workspace.root)

    def keep(self) -> None:
        """Keep what the user chose in this session, for the day it is resumed."""
        state = self._state
        if self._kept is None or self._is_lent or state == self._saved:
            return
        before = msgspec.structs.asdict(self._initial)
        changed = {name: value for name, value in msgspec.structs.asdict(state).items() if value != before[name]}
        changed["writable"] = tuple(path for path in state.writable if path not in self._initial.writable)
        with suppress(OSError):  # what cannot be kept is asked again
            self._kept().save(SessionPermissions(**changed))
        self._saved = state

    async def restore(self, fixed: Collection[str]) -> str:
        """Permit what the user permitted when the session was open before. Returns what that is, in a sentence.

        Args:
            fixed: what the command line chose: `approvals`, `mode` and `network`.
        """
        if self._kept is None:
            return ""
        chosen = self._kept().load()
        if chosen == SessionPermissions():
            return ""
        await self._containment.settle()
        if not self._containment.confined or self._containment.mode == "full-access":
            return ""  # it was permitted within a sandbox
        changes: list[tuple[str, SandboxChange]] = [
            (f"{path} writable", SandboxChange(writable=(path,))) for path in chosen.writable
        ]
        if chosen.mode is not None and "mode" not in fixed:
            changes.append((_PLAN if chosen.plans else chosen.mode, SandboxChange(mode=chosen.mode)))
            self._gate.plans, self._reads_only = bool(chosen.plans), chosen.mode == _READ_ONLY
        if chosen.git is not None:
            name = "git writable" if chosen.git else "git read-only"
            changes.append((name, SandboxChange(git_writable=chosen.git)))
        if chosen.ports is not None:
            changes.append((f"ports {chosen.ports}", SandboxChange(ports=chosen.ports)))
        done: list[str] = []
        for name, change in changes:
            try:
                await self.change(change)
                done.append(name)
            except CommandError as error:
                done.append(f"not {name} ({error})")
        if chosen.network is not None and "network" not in fixed:
            try:
                done.append(f"network {self._containment.set_network(chosen.network)}")
            except CommandError as error:  # it was chosen on another machine, or before a change of this one
                done.append(f"not network {chosen.network} ({error})")
        if chosen.approvals is not None and "approvals" not in fixed:
            done += self._restore_approvals(chosen.approvals)
        self._saved = None if chosen.answered or chosen.services else self._state
        return " ".join(_resumed(done, chosen))

    def _restore_approvals(self, approvals: ApprovalPolicy) -> list[str]:
        """Returns what is to be told; `read-only` says it already."""
        self._gate.choose(approvals)
        return [] if self._containment.mode == _READ_ONLY else [f"approvals {approvals}"]

    @property
    def _state(self) -> SessionPermissions:
        contained = self._containment
        mode = None if contained.mode == "full-access" else contained.mode
        chosen = contained.choices
        return SessionPermissions(
            self._gate.choice,
            mode,
            contained.network,
            tuple(contained.added),
            chosen.git_writable,
            chosen.ports,
            self.policy == _PLAN or None,
            contained.answered,
            tuple(contained.admitted),
        )

    async def _choose(self, policy: str) -> str:
        if policy not in self.policies:
            raise CommandError(f"invalid approval mode {policy!r}: use {', '.join(self.policies)}")
        self._is_lent = False
        if policy in (_READ_ONLY, _PLAN):
            usual = self._gate.choice if self._containment.mode != _READ_ONLY else self._usual
            await self.change(SandboxChange(mode="read-only"))
            self._gate.choose("never")
            self._usual, self._gate.plans, self._reads_only = usual, policy == _PLAN, True
            return "\n".join(filter(None, (policy, self._still_running())))
        if policy in _CYCLE and self._containment.mode == _READ_ONLY:
            await self.change(SandboxChange(mode="workspace-write"))
            self._gate.plans = self._reads_only = False
        self._gate.choose(policy)
        return self.policy

    def _find(self, path: str) -> tuple[str, bool]:
        """A directory as an absolute path, and whether it belongs to the writable ones."""
        absolute = os.path.normpath(os.path.join(self._workspace.root, os.path.expanduser(path)))
        return absolute, is_below(os.path.realpath(absolute), map(os.path.realpath, self.directories))

    def _still_running(self) -> str:
        """That what runs keeps its rights."""
        told = []
        if count := sum(process.state == "running" for process in self._workspace.processes.list()):
            what = "1 background process keeps" if count == 1 else f"{count} background processes keep"
            told.append(f"{what} the right to write until the end; /bg lists, /bg-cancel stops")
        if self.beside():
            told.append("a command that an agent in the background runs now can write until it ends; /agents shows it")
        return "\n".join(told)
