"""The sandbox of one workspace: hands under the policy in force, the network they may reach, the guard beside them."""

import asyncio
import contextlib
import os.path
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import msgspec

from kaa.hands.confinement.contract import ConfinementError, ViewChangedError
from kaa.hands.policy import Mode, Policy, Tier
from kaa.host.code import leave_out
from kaa.host.paths import is_below
from kaa.host.programs import note_writable
from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.fork_server import PolicyRefusedError, PolicyReport
from kaa.workspace.hands import Hands, Wrapper
from kaa.workspace.launch import LaunchedHands
from kaa.workspace.places import Places
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.sandbox.environment import sandbox_environment
from kaa.workspace.sandbox.findings import Carrier, Findings
from kaa.workspace.sandbox.network import Network
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions, policy_for
from kaa.workspace.sandbox.roots import SandboxRoots, real_root
from kaa.workspace.sandbox.tiers import tiers_to_try, wrapper
from kaa.workspace.slots import GuardLostError, Slot, SlotKind

if TYPE_CHECKING:
    from kaa.workspace.network.ports import Ports
    from kaa.workspace.protected_files import PermittedWrites
    from kaa.workspace.sandbox.denials import Denials
    from kaa.workspace.sandbox.dot_entries import DotEntries
    from kaa.workspace.sandbox.private_tmp import PrivateTmp
    from kaa.workspace.sandbox.untold_files import UntoldFiles
    from kaa.workspace.sandbox.watch import Activity, GuardedActivity, GuardWatch

_SCANS = (
    "The project has too many directories to watch all of them: after each command kaa reads all of them, which takes"
    " longer, and acts on protected names only then."
)


class SandboxStatus(msgspec.Struct, frozen=True):
    """What holds on this machine.

    Attributes:
        confined: the kernel holds the hands; if not, they may do whatever the user may.
        refused: tiers that were tried before, with the reason why this machine cannot hold them.
    """

    tier: Tier
    mode: Mode
    network: str
    confined: bool
    git_writable: bool
    features: dict[str, str]
    checks: tuple[str, ...]
    warnings: tuple[str, ...]
    refused: dict[str, str]


class Sandbox:
    """Gives out slots of the hands that hold the policy in force.

    The policy changes only by `change`. What runs goes on under the policy it was started with.

    Args:
        environment: the user's own, for proxies the network is reached through, and where programs are.
        beside: for calls that the user lets out of another sandbox: that one, whose guard is not to mind them.

    Attributes:
        network: what commands may reach; changing it acts on running ones too.
        findings: what the guard found; says to whom it belongs.

    Raises:
        RootReplacedError: the root or a writable directory is not what it was for another sandbox of this process.
    """

    def __init__(
        self,
        root: str,
        home: str,
        options: SandboxOptions,
        places: Places,
        environment: Mapping[str, str],
        beside: "Sandbox | None" = None,
    ) -> None:
        options = msgspec.structs.replace(options, writable=tuple(map(real_root, options.writable)))
        self._roots = SandboxRoots()
        self._roots.add((root, *options.writable))
        note_writable((root, *options.writable, *places.written))
        leave_out((root, *options.writable))
        self._root = root
        self._home = home
        self._beside = beside
        self._options = options
        self._places = places
        self._environment = environment
        self._tiers: list[Tier] = ["none"] if options.mode == "full-access" else list(tiers_to_try())
        self._refused: dict[str, str] = {}
        self._hands: Hands | None = None
        self._others: list[Hands] = []  # of former policies: something may run there, and the user may go back to them
        self._guarded = options  # the guard watches what commands under these may write
        self._guarding: Hands | None = None  # has its slot, if that is not the hands in force
        self._watch: GuardWatch | None = None
        self._stops: list[Callable[[], None]] = []
        self._watching = asyncio.Lock()
        self._switching = asyncio.Lock()
        self._proxy_port: int | None = None
        self._proxy_ports: dict[Hands, int] = {}  # of hands with a network of their own
        self._environment_of: tuple[tuple[Policy, int | None], dict[str, str]] | None = None
        self.network = Network(options.network, environment)
        self.findings = Findings()
        self._untold: UntoldFiles | None = None
        self._ports: Ports | None = None

    def start(self, launched: LaunchedHands | None = None) -> None:
        """Start hands in the strongest tier, without waiting for them. Needs no event loop.

        Args:
            launched: a process that was started before, without arguments.

        Raises:
            RootReplacedError: a directory to work in is not what it was.
            WorkspaceUnavailableError: no process can be started.
        """
        while True:
            try:
                # Beside others little runs: what is ready would cost more than it saves.
                self._hands = self._new_hands(self._options, keeps_spares=self._beside is None)
                self._hands.start(launched)
            except (PolicyRefusedError, ConfinementError) as error:
                self._refuse_tier(str(error))
            else:
                return

    @property
    def permitted_writes(self) -> "PermittedWrites | None":
        """Notes what is written here, if this is what the user lets calls out to."""
        return None if self._beside is None else self._beside.written_with_permission

    @cached_property
    def written_with_permission(self) -> "PermittedWrites":
        """What kaa wrote outside this sandbox, because the user permitted it."""
        from kaa.workspace.protected_files import PermittedWrites  # lazy: few files are written outside

        return PermittedWrites(self.inspect)

    @property
    def ports(self) -> "Ports":
        """Ports between the sandbox and the host's loopback."""
        if self._ports is None:
            from kaa.workspace.network.ports import Ports  # lazily: few need it

            private = self._options.private
            self._ports = Ports(self._inside_socket, self._listening, lambda: self._options.ports == "open", private)
        return self._ports

    @property
    def admitted(self) -> tuple[str, ...]:
        """Services of the user's machine that commands can reach."""
        return () if self._ports is None else self._ports.services.admitted

    def is_own(self, path: str) -> bool:
        """Whether a path is one of kaa's own directories, or in one, whose sockets are for nobody else."""
        return is_below(os.path.realpath(path), map(os.path.realpath, self._options.private))

    async def admit(self, service: str) -> str:
        """Let commands reach a service of the user's machine: a port, or the path of a unix socket. Returns its name.

        Raises:
            ServiceError: it cannot be reached from inside.
        """
        from kaa.workspace.network.host_services import ServiceError  # lazily: few need it

        if service.startswith("/") and self.is_own(service):
            raise ServiceError(f"{service} leads to kaa itself, which commands must not steer.")
        report = await self._report()
        if not self._current.network_process or report.features.get("unix sockets") != "only of the sandbox":
            raise ServiceError(f"tier {self.policy.tier} cannot let commands reach single services of this machine")
        written = map(os.path.realpath, self._places.written)
        return await self.ports.services.admit(service, (*self._guarded.writable, self._root, *written))

    @property
    def open_ports(self) -> tuple[int, ...]:
        """The ports on the host's loopback that lead into the sandbox."""
        return () if self._ports is None else tuple(forward.host_port for forward in self._ports.forwards.active)

    @property
    def served_ports(self) -> tuple[int, ...]:
        """Those of them behind which a server runs, or none was seen."""
        return () if self._ports is None else self._ports.served

    @property
    def policy(self) -> Policy:
        """What the hands are held to."""
        return self._current.policy

    @property
    def confined(self) -> bool:
        """Whether the kernel holds the hands. Only known for sure once something was taken."""
        return self.policy.tier != "none"

    @property
    def mode(self) -> Mode:
        """What the user chose may be written."""
        return self._options.mode

    @property
    def options(self) -> SandboxOptions:
        """What the user chose, as far as it can be changed here; `network` has its own state."""
        return self._options

    @property
    def written(self) -> tuple[str, ...]:
        """Directories that commands can write, or could: the project and what was added. Real paths."""
        return tuple(dict.fromkeys((self._root, *self._options.writable, *self._guarded.writable)))

    @property
    def loaded(self) -> tuple[str, ...]:
        """What kaa loads code from besides its own, as it was known at the start: since then it cannot be changed."""
        return self._options.loaded

    @property
    def minds(self) -> bool:
        """Whether the guard acts on what appears: something of kaa's runs, or has ended a moment ago."""
        return self._watch is not None and self._watch.minds

    @property
    def temporary(self) -> tuple[str, ...]:
        """Directories for temporary files, as commands know them."""
        if self.policy.tier in ("full", "bwrap"):
            return ("/tmp", "/var/tmp")  # noqa: S108 - private ones are mounted there
        return (self.policy.temporary,) if self.policy.temporary else ("/tmp",)  # noqa: S108

    async def take(self, kind: SlotKind) -> Slot:
        """A slot under the policy in force; falls back to the next tier where the machine cannot hold one.

        Raises:
            WorkspaceUnavailableError: the hands die each time.
        """
        while True:
            hands = (self._guarding if kind == "guard" else None) or self._current
            try:
                if kind in ("command", "background"):
                    await hands.show()
                slot = await hands.take(kind)
            except PolicyRefusedError as error:
                await self._fall_back(hands, str(error))
                continue
            self._serve_network(hands)
            return slot

    @cached_property
    def private_tmp(self) -> "PrivateTmp":
        """Knows where the user finds what commands write to /tmp."""
        from kaa.workspace.sandbox.private_tmp import PrivateTmp  # lazy: few results name a file there

        return PrivateTmp(lambda: self.policy, self._places.keep)

    async def show(self) -> None:
        """Show to what runs what appeared in /tmp and in the home."""
        await self._current.show()

    def give_back(self, kind: SlotKind, slot: Slot) -> None:
        slot.hands.give_back(kind, slot)

    def on_flood(self, stop: Callable[[], None]) -> None:
        """Have everything stopped when a command plants protected names in a loop, or the guard dies."""
        self._stops.append(stop)

    def warm_up(self) -> None:
        """Something will be run soon: have ready what it needs. Most conversations begin without."""
        if self._watch is None:
            self._current.warm_up()

    def expect_checkpoints(self) -> None:
        """A command will be run soon: start the process that takes checkpoints of it."""
        if self._watch is None:
            self._current.expect("checkpoints")

    def settle(self) -> None:
        """One program runs here from now on, and nothing changes: keep nothing ready for others. After `status`."""
        self._current.settle()

    def expect(self, kind: SlotKind) -> None:
        if self._hands is not None:
            self._hands.expect(kind)

    def gives(self, slot: Slot) -> bool:
        """Whether a slot taken before is under the policy in force."""
        return slot.hands is self._hands

    async def status(self) -> SandboxStatus:
        """What holds, once it is known.

        Raises:
            WorkspaceUnavailableError: the hands cannot be started.
        """
        report = await self._settled_report()
        policy = self.policy
        isolated = "off" if not self.tells_hosts_apart else str(self.network.state)
        return SandboxStatus(
            tier=policy.tier,
            mode=policy.mode,
            network=isolated if self.confined and policy.network == "isolated" else "on",
            confined=self.confined,
            git_writable=policy.git_writable,
            features=report.features,
            checks=report.checks,
            warnings=(*report.warnings, *([_SCANS] if self._watch is not None and self._watch.scans else [])),
            refused=dict(self._refused),
        )

    async def environment(self) -> dict[str, str]:
        """Variables that commands need to live with the policy. The same object as long as they stay the same."""
        await self._report()
        basis = (self.policy, self._proxy_port)
        if self._environment_of is None or self._environment_of[0] != basis:
            self._environment_of = (basis, sandbox_environment(*basis, self._environment))
        return self._environment_of[1]

    @property
    def tells_hosts_apart(self) -> bool:
        """Whether single hosts can be permitted: Landlock and seccomp leave the network open or closed."""
        return self.policy.tier != "landlock"

    def denials(self, policy: Policy | None = None) -> "Denials":
        """What tells from a command's words what was blocked, by an earlier policy or the one in force."""
        from kaa.workspace.sandbox.denials import Denials  # lazy: only where something fails or is written

        return Denials(policy or self.policy, self._root, self._home)

    @contextlib.asynccontextmanager
    async def guarded(
        self, carrier: Carrier | None, kind: "Activity" = "command", seen: Mapping[str, bytes] | None = None
    ) -> AsyncIterator[None]:
        """Do something in the project under the eyes of the guard.

        Args:
            carrier: has at the end what was found meanwhile; None where nobody reads a result.
            seen: contents that the user permitted, by absolute paths.

        Raises:
            BlockedError: this machine cannot confine anything, although the user wants it.
            WorkspaceUnavailableError: the guard cannot be reached.
        """
        await self._settled_report()
        if not self.confined and self._options.mode != "full-access":
            raise BlockedError(Blocked("outside", "Running commands and writing files"), self._root)
        if not self.confined:
            async with self._permitted_beside(carrier):
                yield
            return
        activity = await self._begin_watch(kind)
        with self.findings.carried(carrier):
            try:
                async with contextlib.AsyncExitStack() as permitted:
                    for path, content in (seen or {}).items():
                        if self._watch is not None:
                            await permitted.enter_async_context(self._watch.permitting(path, content))
                    yield
            finally:
                await self._end_watch(activity)

    async def inspect(self) -> None:
        """Have the guard move away now what commands have planted so far.

        Raises:
            GuardLostError: it does not answer.
        """
        if self._watch is not None:
            await self._watch.inspect()

    def dot_entries(self) -> "DotEntries":
        """What commands see of the home's dot entries, and what they do not."""
        from kaa.workspace.sandbox.dot_entries import dot_entries  # lazy: only who wonders asks

        return dot_entries(self.policy, self._root, self._home)

    async def change(self, change: SandboxChange) -> None:
        """Allow more or less from now on. What runs goes on under the policy it was started with.

        New hands live in the network of the former ones. The guard changes first: it watches what commands under any
        policy so far may write.

        Raises:
            SandboxChangeError: the sandbox cannot be changed so.
            RootReplacedError: a directory to work in is not what it was; nothing has changed.
            WorkspaceUnavailableError: the hands cannot be started; nothing has changed.
        """
        from kaa.workspace.sandbox.changes import widest  # lazy: most sandboxes stay as they are

        await self._report()
        async with self._watching, self._switching:
            real = change.resolved()
            self._check_change(change, real)
            options = real.of(self._options, self._root)
            self._roots.check()
            self._roots.add(options.writable)
            note_writable(options.writable)
            leave_out(options.writable)
            former, guarded = self._current, widest(self._guarded if self._watch else options, options)
            hands = await self._hands_of(options)
            guarding = hands if guarded == options else await self._hands_of(guarded)
            if self._watch is not None:
                await self._watch.doubt()
            if self._watch is not None and guarding is not (self._guarding or former):
                await self._change_guard(await guarding.take("guard"))
            self._options, self._guarded, self._guarding = options, guarded, guarding
            self._hands = hands
            self._serve_network(hands)
            self._others = [one for one in (*self._others, former, guarding) if one is not hands]
            self._others = list(dict.fromkeys(self._others))
            for one in self._others:
                one.retire()
            hands.resume()
            if self._watch is not None:
                self._watch.expect_replacements()

    def check_roots(self) -> None:
        """Check that the root and the added directories are still those that the user named.

        Raises:
            RootReplacedError: one is not.
        """
        self._roots.check()

    def objection(self, change: SandboxChange) -> str | None:
        """Why a change that somebody else than the user proposes is not even worth a question; None if it is."""
        from kaa.workspace.sandbox.changes import SandboxChangeError, check_proposal  # lazy, as above

        real = change.resolved()
        try:
            self._check_change(change, real)
            check_proposal(real, self.policy, self._environment.get("PATH", ""), self._home)
        except SandboxChangeError as error:
            return str(error)
        return None

    def _check_change(self, change: SandboxChange, real: SandboxChange) -> None:
        from kaa.workspace.sandbox.changes import check_change  # lazy, as above

        kept = (os.path.dirname(self._places.written[0]),)
        check_change(change, real, self._options, self.policy, home=self._home, kept=kept, environ=self._environment)

    async def close(self) -> None:
        """End all hands and what runs in them."""
        if self._ports is not None:
            await self._ports.close_all()
        if self._watch is not None:
            await self._watch.settle()
            if self._watch.failed:
                await self._look_after_death()
            self._watch.close()
        await asyncio.gather(*(hands.close() for hands in self._all_hands()))
        await self.network.close()
        if self._untold is not None:
            self._untold.close()
        self._roots.close()
        await asyncio.to_thread(self._places.close)

    @property
    def _current(self) -> Hands:
        if self._hands is None:
            raise WorkspaceUnavailableError("The workspace was not started.")
        return self._hands

    def _new_hands(self, options: SandboxOptions, join: Sequence[int] = (), *, keeps_spares: bool = True) -> Hands:
        options = msgspec.structs.replace(options, network=self.network.state)
        policy = policy_for(
            self._tiers[0],
            options,
            root=self._root,
            home=self._home,
            places=self._places,
            environment=self._environment,
        )
        wrap = partial(self._wrapper, policy)
        return Hands(self._root, self._home, policy, wrap=wrap, join=join, keeps_spares=keeps_spares)

    def _wrapper(self, policy: Policy) -> Wrapper:
        """Return through what hands are started, whenever they are.

        Raises:
            RootReplacedError: a directory to work in is not what it was.
            ConfinementError: the policy makes no sense on this machine.
        """
        self._roots.check()
        try:
            return wrapper(policy, self._home)
        except ViewChangedError as error:
            raise WorkspaceUnavailableError(f"The sandbox cannot be made: {error}.") from error

    async def _settled_report(self) -> PolicyReport:
        """What the hands report, after others replaced them if they have not the network that is chosen now."""
        report = await self._report()
        has_all = self.policy.network == "host"
        if self.tells_hosts_apart or not self.confined or has_all == self.network.state.is_open:
            return report
        await self.change(SandboxChange())
        return await self._report()

    async def _report(self) -> PolicyReport:
        while True:
            hands = self._current
            try:
                report = await hands.report()
            except PolicyRefusedError as error:
                await self._fall_back(hands, str(error))
                continue
            self._serve_network(hands)
            return report

    async def _fall_back(self, refusing: Hands, reason: str) -> None:
        """Start hands in the next tier, unless somebody who met the same refusal did."""
        async with self._switching:
            if refusing is self._guarding and refusing is not self._hands:
                raise WorkspaceUnavailableError(f"The guard of the project cannot be started: {reason}")
            if self._hands is not refusing:
                return
            await refusing.close()
            self._refuse_tier(reason)
            self.start()

    def _refuse_tier(self, reason: str) -> None:
        """Go on without a tier that this machine cannot hold.

        Raises:
            WorkspaceUnavailableError: there is none left.
        """
        tier = self._tiers.pop(0)
        self._refused[tier] = reason
        if not self._tiers:
            raise WorkspaceUnavailableError(f"The hands cannot be started: {reason}")

    async def _hands_of(self, options: SandboxOptions) -> Hands:
        """Hands that hold these options: some that run, or new ones in the network of those in force."""
        current = self._current
        new = self._new_hands(options, current.namespaces if current.policy.tier == "full" else ())
        for hands in self._all_hands():
            if hands.policy == new.policy:
                return hands
        new.start()
        try:
            await new.report()
        except BaseException:
            await new.close()
            raise
        self._others.append(new)
        return new

    def _all_hands(self) -> list[Hands]:
        return [*self._others, *([self._hands] if self._hands else ())]

    def _serve_network(self, hands: Hands) -> None:
        """Serve the proxy on the socket that came with new hands, if one did."""
        listener = hands.take_proxy_listener()
        if listener is not None:
            self._proxy_ports[hands] = self.network.attach(listener)
        self._proxy_port = self._proxy_ports.get(hands, self._proxy_port)

    async def _inside_socket(self, family: int) -> socket.socket:
        return await self._current.socket(family)

    async def _listening(self) -> frozenset[int]:
        """Ports that commands and admitted services listen on; known where the network of commands can be looked at."""
        from kaa.workspace.network.listening import listening_ports  # lazy: few commands are servers

        process = self._current.network_process
        return frozenset() if process is None else listening_ports(process) - set(self._proxy_ports.values())

    async def _begin_watch(self, kind: "Activity") -> "GuardedActivity":
        """Tell the guard that something begins. A guard that died is replaced, one that is busy is waited for."""
        async with self._watching:
            # Not before a change of the policy has ended: the command runs under the new one.
            only_reads = kind == "command" and self.policy.mode == "read-only"
            for _attempt in range(2):
                if self._watch is None or not self._watch.is_alive:
                    await self._change_guard(await self.take("guard"))
                assert self._watch is not None
                try:
                    return await self._watch.begin("reading" if only_reads else kind, self._current)
                except GuardLostError:
                    if self._watch.is_alive:
                        raise
        raise WorkspaceUnavailableError("The guard of the project died twice; nothing runs without it.")

    @property
    def _saved(self) -> str:
        """The folder in kaa's home, which commands neither read nor write, for what the guard moved away."""
        return os.path.join(self._options.private[0], "moved-files") if self._options.private else ""

    async def save_copy(self, path: str, content: bytes, mode: int) -> str:
        """Keep a content there; see `SandboxControl` in `kaa.shell.boundary`."""
        if not self._saved:
            return ""
        from kaa.workspace.sandbox.saved_content import save_content  # lazy: few files are kept

        return await asyncio.to_thread(save_content, self._saved, path, content, mode)

    async def _change_guard(self, slot: Slot) -> "GuardWatch":
        """Have another guard watch, from the moment on until which the former one has."""
        from kaa.workspace.sandbox.watch import GuardWatch  # lazy: a conversation without commands needs none

        former, new = (
            self._watch,
            GuardWatch(
                slot,
                self._root,
                self._all_hands,
                self._stop_commands,
                self._deliver,
                self._deliver_later,
                self._saved,
            ),
        )
        if former is not None:
            try:
                await new.take_over(former)
            except BaseException:
                new.close()
                raise
        self._watch = new
        if former is not None:
            await former.retire()
        return new

    def _deliver(self, found: Iterable[Blocked]) -> None:
        """Pass on what the guard found; noted before, because this process may be killed before anybody is told."""
        found = tuple(found)
        if self._saved and any(one.kept_as for one in found):
            from kaa.workspace.sandbox.untold_files import UntoldFiles  # lazy: the guard rarely moves anything

            self._untold = self._untold or UntoldFiles(self._saved, self._root)
            self._untold.add(found)
        self.findings.deliver(found)

    def _deliver_later(self, later: Blocked) -> None:
        """Pass on what was kept of a moved file since."""
        if self._untold is not None:
            self._untold.add([later])
        self.findings.deliver_later(later)

    def take_untold(self) -> tuple[Blocked, ...]:
        """Return what was moved away here by a kaa that was killed before it could tell anybody; once."""
        try:
            names = os.listdir(self._saved) if self._saved else []
        except OSError:
            return ()
        if not names:
            return ()
        from kaa.workspace.sandbox.untold_files import take_untold  # lazy, as above

        return tuple(take_untold(self._saved, names, self._root))

    async def _end_watch(self, activity: "GuardedActivity") -> None:
        """Have everything found. That the guard could not be asked is a finding too: something may keep it busy."""
        if self._watch is None:
            return
        try:
            await self._watch.end(activity)
        except GuardLostError:
            self.findings.deliver([Blocked("unchecked", self._watch.busy_at)])
            await self._look_after_death()

    async def _look_after_death(self) -> None:
        """What commands did since their guard died: they are stopped, and its successor looks."""
        assert self._watch is not None
        if not self._watch.is_alive:
            self._stop_commands()
        with contextlib.suppress(WorkspaceUnavailableError):  # then nothing runs until there is a guard
            async with self._watching:
                if self._watch.failed:
                    await self._change_guard(await self.take("guard"))

    def _stop_commands(self) -> None:
        for stop in self._stops:
            stop()

    def _permitted_beside(self, carrier: Carrier | None) -> contextlib.AbstractAsyncContextManager[None]:
        """While the user acts, or their yes is carried out: the guard of the other sandbox may see what is written."""
        beside = self._beside
        if beside is None or carrier is None or not beside.confined:
            return contextlib.nullcontext()
        if carrier.path is not None:
            return beside._permitting(carrier.path, carrier.content)
        return contextlib.nullcontext() if beside._watch is None else beside._watch.recognizing()

    @contextlib.asynccontextmanager
    async def _permitting(self, path: str, content: bytes) -> AsyncIterator[None]:
        """The user permitted that a file is written meanwhile. A guard that is made ready may have looked before."""
        async with self._watching:
            watch = self._watch or await self._change_guard(await self.take("guard"))
        async with watch.permitting(path, content):
            yield
