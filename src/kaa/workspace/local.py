"""The workspace on this machine: files and commands by way of the sandbox's hands, searches by way of ripgrep."""

import asyncio
import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Literal

import msgspec

from kaa.hands.policy import Policy
from kaa.hands.wire import Frame
from kaa.host.paths import is_below
from kaa.host.programs import SAFE_PATH, home_of, host_programs
from kaa.workspace.background import ProcessTable
from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.channel import parse
from kaa.workspace.commands import CommandRunner, OwnStreams
from kaa.workspace.launch import LaunchedHands
from kaa.workspace.network.allow_list import NetworkRule
from kaa.workspace.outside_views import OutsideViews
from kaa.workspace.places import Places
from kaa.workspace.protocol import (
    KINDS,
    Absent,
    BackgroundProcess,
    CommandRequest,
    CommandResult,
    DirEntry,
    Expected,
    FedResult,
    FedStreams,
    FileContent,
    FileDigest,
    FileInfo,
    FindResult,
    LineSlice,
    Links,
    NamedFile,
    OnOutput,
    PipedProgram,
    SearchQuery,
    SearchResult,
    Start,
)
from kaa.workspace.sandbox.environment import CACHES, installation_environment
from kaa.workspace.sandbox.findings import AskAboutFound, Carrier
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from kaa.workspace.sandbox.roots import real_root
from kaa.workspace.sandbox.sandbox import Sandbox
from kaa.workspace.slots import SlotRequests
from kaa.workspace.standstill import standstill

if TYPE_CHECKING:
    from kaa.hands.confinement.failed_connections import FailedConnection
    from kaa.workspace.checkpoints.contract import CheckpointLimits, Checkpoints, Permit
    from kaa.workspace.network.asking import HostAsker, HostQuestions
    from kaa.workspace.parsing import Parsed, Parser
    from kaa.workspace.protected_files import Owner
    from kaa.workspace.ripgrep import Ripgrep
    from kaa.workspace.sandbox.narrowing import Beside
    from kaa.workspace.terminal import ProgramTerminal

# When it is looked whether a background process listens on a port: most servers start within some seconds.
_SERVER_STARTS_SECONDS = (0.3, 0.7, 1, 2, 4, 8, 16, 28)
# What a policy makes the system answer; EXDEV and EBUSY come from names that are mounts.
_MOUNTED = frozenset({errno.EROFS, errno.EBUSY})  # of these, what a mount is the reason for
_PROTOCOLS = "GIT_ALLOW_PROTOCOL"
_NOT_IN_BACKGROUND = (
    "what uses git leaves the sandbox only in the foreground, since kaa pauses all that runs in the sandbox meanwhile"
)
_REFUSALS = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV})


class _ReadReply(msgspec.Struct, frozen=True):
    size: int
    digest: str | None


class _LinesReply(msgspec.Struct, frozen=True):
    lines: int
    total_lines: int | None
    size: int
    end_of_file: bool
    first_line_cut: bool


class _ExistingReply(msgspec.Struct, frozen=True):
    lengths: tuple[int | None, ...]


class _InfoReply(msgspec.Struct, frozen=True):
    info: FileInfo | None


class LocalWorkspace:
    """A project on this machine. Use `start`.

    All calls must come from one event loop.

    Args:
        root: absolute path of the project.
        environment: kaa's own, from which that of commands is made.
        processes: knows what runs in the background; None makes a new one.
        follows_links: whether paths may lead through symlinks; otherwise only `stat` follows any.
    """

    def __init__(
        self,
        root: str,
        environment: Mapping[str, str],
        home: str,
        sandbox: Sandbox,
        places: Places,
        processes: ProcessTable | None = None,
        *,
        follows_links: bool = True,
    ) -> None:
        self._root = root
        self._own_environment = environment
        self._home = home
        self._places = places
        self._naming: Mapping[str, object] = {} if follows_links else {"real": True}
        self._files = SlotRequests(sandbox, "files")
        self._parser = cache(partial(_parser, sandbox))  # few conversations edit what can be parsed
        self._runner = CommandRunner(sandbox, self._naming)
        self._searcher = CommandRunner(sandbox, self._naming, only_reads=True)
        sandbox.on_flood(self._runner.stop)
        self._processes = processes or ProcessTable(self._logs)
        self._outside = self._users = OutsideViews(environment, self._sandbox_outside, self._view_outside)
        self._narrowed: list[LocalWorkspace] = []
        self._narrowed_beside: list[LocalWorkspace] = []
        self._with_kept: dict[str, LocalWorkspace] = {}  # by the folder of the plugin
        self._with_shown: dict[tuple[str, ...], LocalWorkspace] = {}
        self.is_narrowed = False
        self._chosen = sandbox.options
        self._listener = sandbox.findings.last
        self._questions: HostQuestions | None = None
        self._watched_by: Sandbox | None = None
        self._seen: Mapping[str, bytes] | None = None
        self._alone: Callable[[], str | None] | None = None
        self._linkless: Mapping[str, object] | None = None  # fields of requests to run commands
        self._variables: Mapping[str, str | None] = {}  # for commands, besides the usual ones
        self._takes_input = True  # outside, a yes to one command is none to what could be written to it
        self._start = ""  # the directory that commands start in; empty for the one that they ask for
        # Made of the first part; whether programs are found that commands installed.
        self._commands_environment: tuple[Mapping[str, str], dict[bool, dict[str, str]]] | None = None
        self.sandbox = sandbox

    @classmethod
    def start(
        cls,
        root: str,
        *,
        env: Mapping[str, str] | None = None,
        launched: LaunchedHands | None = None,
        sandbox: SandboxOptions | None = None,
    ) -> "LocalWorkspace":
        """Start the hands for a project, without waiting for them. Needs no event loop yet.

        Args:
            env: kaa's own environment, from which that of commands is made; the process's if None.
            launched: hands that were started before; None starts them.
            sandbox: what the user chose; None takes the defaults: the project may be written, no network.

        Raises:
            OSError: the directories for temporary files and caches cannot be created, or something else is now where
                another workspace of this process has its project.
        """
        own = os.environ if env is None else env
        root = real_root(root)  # behind a link in /tmp there would be nothing inside the sandbox
        home = own.get("HOME") or os.path.expanduser("~")
        places = Places.of(own, home, root)
        confines = Sandbox(root, home, sandbox or SandboxOptions(), places, own)
        confines.start(launched)
        return cls(root, own, home, confines, places)

    @property
    def home(self) -> str:
        """The user's home directory."""
        return self._home

    @property
    def root(self) -> str:
        return self._root

    def narrowed(
        self, *, writable: Sequence[str] | None = None, hosts: Sequence[str] | None = None
    ) -> "LocalWorkspace":
        """It has hands of its own, as each policy has."""
        from kaa.workspace.sandbox.narrowing import Beside, narrowed_sandbox  # lazy: few conversations run agents

        own = Beside(
            self._root, self._home, Places.of(self._own_environment, self._home, self._root), self._own_environment
        )
        sandbox = narrowed_sandbox(self.sandbox, own, self._listener, writable, hosts)
        narrower = self._made_beside(own, sandbox, is_narrowed=True)
        narrower._users = self._users
        return narrower

    def with_kept(self, folder: str) -> "LocalWorkspace":
        """Return the same project with a folder besides that programs of a plugin write and commands never see.

        It has hands of its own and follows what is allowed here. No command of the model may have this.

        Args:
            folder: what the plugin keeps, absolute; it exists.
        """
        if self.sandbox.mode == "full-access":
            return self
        if (made := self._with_kept.get(folder)) is None:
            from kaa.workspace.sandbox.keeping import keeping_sandbox  # lazy, both: few users have such plugins
            from kaa.workspace.sandbox.narrowing import Beside

            places = Places.of(self._own_environment, self._home, self._root)
            own = Beside(self._root, self._home, places, self._own_environment)
            sandbox = keeping_sandbox(self.sandbox, own, self._listener, folder)
            made = self._with_kept[folder] = self._made_beside(own, sandbox, is_narrowed=self.is_narrowed)
        return made

    def with_shown(self, paths: Sequence[str]) -> "LocalWorkspace":
        """Return the same project with files of the user's besides that programs read and commands never see.

        It has hands of its own and follows what is allowed here. No command of the model may have this. What is hidden
        for itself, by the user or as a secret, stays so.

        Args:
            paths: of the files, absolute and real.
        """
        denials = self.sandbox.denials()
        hidden = tuple(filter(denials.is_hidden_with_folder, paths))
        if self.sandbox.mode == "full-access" or not hidden:
            return self
        if (made := self._with_shown.get(hidden)) is None:
            from kaa.workspace.sandbox.keeping import showing_sandbox  # lazy, as above
            from kaa.workspace.sandbox.narrowing import Beside

            places = Places.of(self._own_environment, self._home, self._root)
            own = Beside(self._root, self._home, places, self._own_environment)
            sandbox = showing_sandbox(self.sandbox, own, self._listener, hidden)
            made = self._with_shown[hidden] = self._made_beside(own, sandbox, is_narrowed=self.is_narrowed)
        return made

    def relocated(self, project: str, copy: str, root: str) -> "LocalWorkspace":
        """A workspace over a copy of the project, with the rights that this one has in the project.

        It follows what is allowed here: to less, and back. An answer to a question about a host holds for both.

        Args:
            project: the directory that was copied; the root is in it.
            root: the directory of the copy that corresponds to the root of this workspace.
        """
        from kaa.workspace.sandbox.narrowing import Beside  # lazy, as above
        from kaa.workspace.sandbox.relocation import relocated_sandbox

        own = Beside(root, self._home, Places.of(self._own_environment, self._home, root), self._own_environment)
        sandbox = relocated_sandbox(self.sandbox, own, self._listener, project, copy)
        return self._made_beside(own, sandbox, is_narrowed=False)

    def _made_beside(self, own: "Beside", sandbox: Sandbox, *, is_narrowed: bool) -> "LocalWorkspace":
        """A workspace that follows what this one may do."""
        beside = LocalWorkspace(own.root, own.environment, own.home, sandbox, own.places)
        beside.is_narrowed, beside._narrowed_beside = is_narrowed, self._narrowed
        self._narrowed.append(beside)
        return beside

    @contextlib.contextmanager
    def of_conversation(self) -> "Iterator[LocalWorkspace]":
        """The same workspace for one of several conversations: it is told what the guard finds about its commands."""
        view = copy(self)
        view._listener = self.sandbox.findings.join()
        try:
            yield view
        finally:
            self.sandbox.findings.leave(view._listener)

    async def change(self, change: SandboxChange) -> None:
        """Change what the sandbox allows; see `Sandbox.change`. Those made from this one follow only to less."""
        await self.sandbox.change(change)
        for beside in self._narrowed:
            from kaa.workspace.sandbox.narrowing import followed  # lazy, as above

            await beside.change(followed(beside._chosen, self.sandbox.options))

    def asking(self, asker: "HostAsker", hosts: Sequence[str] = ()) -> "LocalWorkspace":
        """The same workspace for the commands of one call, whose user is asked about hosts that are not permitted.

        Raises:
            NetworkRuleError: one is no rule.
        """
        from kaa.workspace.network.asking import HostQuestions  # lazy: many conversations run no command

        view = copy(self)
        view._questions = HostQuestions(asker, tuple(map(NetworkRule.parse, hosts)))
        return view

    def tell(self, tell: Callable[[str], None]) -> None:
        """From now on, this is told in a sentence what the guard finds that belongs to no call."""
        self._listener.tell(tell)

    def tell_left(self) -> None:
        """Tell, and later the model, what was moved away in this project by a kaa that was killed."""
        for one in self.sandbox.take_untold():
            self._listener.hear_of_left(one)

    def ask(self, ask: AskAboutFound) -> None:
        """From now on, this asks about files that the guard moved away, instead, if they belong to no call."""
        self._listener.ask(ask)

    def unconfined(self) -> "LocalWorkspace":
        """The same project without a sandbox. Whoever holds this holds the user's rights: only with the user's yes.

        Paths are real ones there, except for `stat`, which finds out what they are. What leads elsewhere since the user
        said yes fails.
        """
        if self.is_narrowed:
            raise PermissionError("a narrowed workspace has no outside")
        return self._outside.unconfined

    def watched(
        self,
        links: Links = "followed",
        start: Start = "project",
        seen: Mapping[str, bytes] | None = None,
        *,
        alone: Callable[[], str | None] | None = None,
    ) -> "LocalWorkspace":
        """The same, for commands of the model: what they write, the guard treats as what commands in the sandbox write.

        A client can bring files whose names nobody has seen before the yes. It finds the programs that it starts
        outside what commands can write, where a sandbox holds these back.

        Args:
            links: what commands do with links in what others can write.
            seen: contents that the user saw before the yes, by absolute paths: the guard accepts these.
            alone: nothing in a sandbox of this process runs meanwhile. Returns then why a command must not run, if so.
        """
        view = copy(self.unattended(links, start) if self.sandbox.confined else self.unconfined())
        view._watched_by, view._seen = self.sandbox if self.sandbox.confined else None, seen
        if alone and self.sandbox.confined:
            view._alone = alone
        return view

    def unattended(self, links: Links = "followed", start: Start = "project") -> "LocalWorkspace":
        """The same, for commands that nobody is asked about: they find programs outside what commands can write.

        Args:
            links: what commands do with links in what others can write.
        """
        if self.is_narrowed:
            raise PermissionError("a narrowed workspace has no outside")
        if (links, start) == ("followed", "project"):
            return self._outside.unattended
        view = copy(self._outside.unattended)
        if links != "followed":
            directories = [path for path in self.sandbox.written if os.path.isdir(path)]
            view._linkless = {"linkless": directories, "needs_linkless": links == "refused"}
        if start != "project":
            view._variables = {SAFE_PATH: self._own_environment.get(SAFE_PATH)}
        if start == "home":
            view._start = home_of({"HOME": self._home})
        return view

    def of_user(self) -> "LocalWorkspace":
        """Return the same for hooks of the user: they run for calls of narrowed agents, too. No call may have this."""
        return self._users.unattended

    def exposed_program(self, name: str) -> str | None:
        """The program that a name means outside the sandbox, if commands in the sandbox can write it."""
        return host_programs(self._own_environment).exposed(name)

    def starts_module_here(self, name: str) -> str | None:
        """The script that a name means outside the sandbox, if it loads code of the directory where it starts."""
        from kaa.host.client_settings import starts_module_here  # lazy: few commands leave the sandbox

        return starts_module_here(name, host_programs(self._own_environment))

    def exposed_setting(self) -> str | None:
        """The variable that has a client outside the sandbox obey or run what commands can write, if there is one."""
        from kaa.host.client_settings import exposed_setting  # lazy: few commands leave the sandbox

        return exposed_setting(self._own_environment, host_programs(self._own_environment))

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        frame = await self._reading(
            path, {**self._naming, "op": "read", "path": path, "offset": offset, "length": length}
        )
        reply = parse(frame.header, _ReadReply)
        return FileContent(frame.body, reply.size, reply.digest)

    async def read_named(self, path: str, max_bytes: int) -> NamedFile:
        from kaa.workspace.named_files import read_named  # lazy: most messages name no file

        return await read_named(self, self._absolute(path), max_bytes, self._untrusted())

    async def list_named(self, path: str) -> list[DirEntry]:
        from kaa.workspace.named_files import list_named  # lazy: most runs complete no path

        return await list_named(self, self._absolute(path), self._untrusted())

    def _untrusted(self) -> Sequence[str]:
        """Where commands could change what a path leads to, which then is not used with the user's rights."""
        if self.is_narrowed:
            raise PermissionError("a narrowed workspace has no outside")
        if self.sandbox.mode == "full-access":
            return ()
        return [*map(os.path.realpath, (*self.sandbox.policy.writes, *self._places.written)), "/proc"]

    async def read_lines(self, path: str, start: int, max_lines: int, max_bytes: int) -> LineSlice:
        limits = {"start": start, "max_lines": max_lines, "max_bytes": max_bytes}
        frame = await self._reading(path, {**self._naming, "op": "read_lines", "path": path, **limits})
        reply = parse(frame.header, _LinesReply)
        return LineSlice(
            frame.body, reply.lines, reply.total_lines, reply.size, reply.end_of_file, reply.first_line_cut
        )

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        frame = await self._files.call(
            self._root, {**self._naming, "op": "read_existing", "paths": list(paths), "max_bytes": max_bytes}
        )
        found: dict[str, bytes] = {}
        offset = 0
        for path, length in zip(paths, parse(frame.header, _ExistingReply).lengths, strict=False):
            if length is not None:
                found[path] = frame.body[offset : offset + length]
                offset += length
        return found

    async def write(self, path: str, data: bytes, expected: Expected = None, *, executable: bool = False) -> FileInfo:
        attributes: dict[str, object] = {"executable": True} if executable else {}
        if self._parser.cache_info().currsize:
            self._parser().written(self._absolute(path), data)
        frame = await self._writing(path, data, expected, attributes, "model")
        info = parse(frame.header, _InfoReply).info
        if info is None:
            raise FileNotFoundError(f"{path} was written, but removed right after.")
        outside = self._found_outside(self._absolute(path))
        return msgspec.structs.replace(info, outside=outside[0]) if outside else info

    async def put_back(self, path: str, data: bytes, expected: Expected, mode: int) -> None:
        await self._writing(path, data, expected, {"mode": mode}, "user")

    async def discard(self, copy: str, expected: FileDigest, top: str) -> None:
        await self._files.call(copy, {"op": "discard", "path": copy, "digest": expected.value, "top": top})

    async def stat(self, path: str) -> FileInfo | None:
        frame = await self._reading(path, {"op": "stat", "path": path})
        return parse(frame.header, _InfoReply).info

    async def list(self, path: str) -> list[DirEntry]:
        frame = await self._reading(path, {**self._naming, "op": "list", "path": path})
        records = frame.body.decode("utf-8", "replace").split("\0")[:-1]
        return [DirEntry(record[1:], KINDS.get(record[:1], "other")) for record in records]

    async def search(self, query: SearchQuery) -> SearchResult:
        info = await self._existing(query.path)
        return await self._ripgrep.search(query, info)

    async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
        return await self._ripgrep.find(pattern, path, limit)

    async def list_files(self, limit: int = 200_000) -> FindResult:
        return await self._ripgrep.files(limit)

    async def run(
        self,
        command: CommandRequest,
        on_output: OnOutput | None = None,
        kind: Literal["command", "background"] = "command",
        terminal: "ProgramTerminal | None" = None,
    ) -> CommandResult:
        """`kind`: `background` for what `run_in_background` starts, with the terminal that it may have."""
        from kaa.workspace.output import OutputCollector  # lazy: many conversations run no command

        output = OutputCollector(
            command.tail_bytes,
            logs=self._logs() if command.spill else None,
            spill_lines=command.spill_lines,
            on_output=on_output,
        )
        network = self.sandbox.network
        refused = partial(network.blocked_since, network.mark())
        words = " ".join(command.argv)
        carrier = Carrier(self._listener, words=words, hosts=refused) if command.carries_findings else None
        started = time.monotonic()
        async with network.used_by(self._questions) as waited:
            try:
                is_outside = self._watched_by is not None
                guarding = self._watched_by or self.sandbox
                async with (
                    standstill().of_others() if self._alone else contextlib.nullcontext(),
                    guarding.guarded(carrier, "outside" if is_outside else kind, self._seen),
                    contextlib.AsyncExitStack() as stack,
                ):
                    if self._alone and (objection := self._alone()) is not None:
                        raise PermissionError(objection)
                    policy = self.sandbox.policy
                    env = _changed(await self._environment(command), {**self._variables, **command.env})
                    if self._alone:  # it uses git
                        from kaa.workspace.held_hooks import held_hooks  # lazy: few commands leave the sandbox

                        holding = held_hooks(_to_hosts(env), self._root, guarding.written, self._places.work)
                        env = await stack.enter_async_context(holding)
                    ending = await self._runner.run(
                        command.argv,
                        cwd=self._start or command.cwd,
                        env=env,
                        timeout=command.timeout,
                        waited=waited,
                        output=output.feed,
                        fields=self._linkless,
                        kind=kind,
                        terminal=terminal,
                    )
            finally:
                output.close()
            if self._processes.is_busy:
                await self._introduce_servers()
            failed = ending.exit_code != 0
            if failed and self._questions is not None:  # an answer may still help whoever runs it again
                await self._questions.settle()
            hosts = refused() if carrier is None else carrier.take_hosts(output.tail)
        services = self._services(command.argv, output.tail, ending.failed_connections)
        direct = tuple(one for one in services if one.kind == "direct")
        told = (*services, *self._told_by(command, output.tail, (*hosts, *direct), policy, failed=failed))
        said = told if failed else ()
        found = () if carrier is None else carrier.found
        return CommandResult(
            exit_code=ending.exit_code,
            signal=ending.signal,
            tail=output.tail,
            output_bytes=output.size,
            output_lines=output.lines,
            log_path=output.log_path,
            log_cut=output.log_cut,
            timed_out=ending.timed_out,
            leftovers=ending.leftovers,
            duration=time.monotonic() - started,
            blocked=tuple(dict.fromkeys((*found, *(hosts if failed else ()), *said))),
            # Many programs ask for updates that nobody needs, or clear away empty directories.
            missed=tuple(one for one in (*(() if failed else hosts), *told) if one not in said),
            told_user=() if carrier is None else self._listener.take_for_model(),
            outside=self._found_outside(f"{command.argv[-1]}\n{output.tail.decode('utf-8', 'replace')}"),
        )

    async def run_in_background(self, command: CommandRequest) -> BackgroundProcess:
        if self._alone:
            raise PermissionError(_NOT_IN_BACKGROUND)
        if not self._takes_input:
            command = msgspec.structs.replace(command, terminal=False)
        return self._processes.start(command, self._run_in_background, self._rights)

    def _rights(self) -> frozenset[str]:
        """What commands may do now beyond reading."""
        policy = self.sandbox.policy
        written = () if policy.mode == "read-only" else policy.writable
        may = (
            ("everything", policy.mode == "full-access"),
            ("git", policy.git_writable),
            ("net", policy.network == "host"),
        )
        return frozenset((*written, *policy.shown, *(right for right, is_given in may if is_given)))

    @property
    def processes(self) -> ProcessTable:
        return self._processes

    async def keep(self, output: str | bytes, suffix: str = ".log") -> str | None:
        data = output if isinstance(output, bytes) else output.encode(errors="replace")
        return await asyncio.to_thread(self._keep, data, suffix)

    def _keep(self, output: bytes, suffix: str) -> str | None:
        from kaa.workspace.output import OutputCollector  # lazy, as above

        collector = OutputCollector(0, logs=self._logs(), on_output=None, suffix=suffix)
        collector.feed(output)
        collector.close()
        return collector.log_path

    def checkpoints(
        self, folder: str, session_id: str, limits: "CheckpointLimits", permit: "Permit | None" = None
    ) -> "Checkpoints":
        from kaa.workspace.checkpoints.local import LocalCheckpoints  # lazy: a chat without tools needs none
        from kaa.workspace.protected_files import ProtectedFiles

        protected = None if self.is_narrowed else ProtectedFiles(self.sandbox, lambda: self.unconfined().sandbox)
        permit = permit or _permit_all
        return LocalCheckpoints(self._root, self.sandbox, folder, limits, session_id, permit, protected)

    async def attach(
        self, command: CommandRequest, streams: OwnStreams, given: Callable[[], None] = lambda: None
    ) -> CommandResult:
        """Run a command whose standard streams are the caller's own, to its end.

        Args:
            command: what concerns its output has no effect.
            given: called when it has them: the caller needs them no more.

        Raises:
            BlockedError: nothing confines it although the user wants that.
        """
        refused_before = self.sandbox.network.mark()
        carrier = Carrier(self._listener) if command.carries_findings else None
        async with self.sandbox.guarded(carrier):
            ending = await self._runner.run(
                command.argv,
                cwd=command.cwd,
                env=_changed(await self._environment(command), command.env),
                timeout=command.timeout,
                output=streams,
                given=given,
            )
        services = self._services(command.argv, b"", ending.failed_connections)
        found = () if carrier is None else carrier.found
        blocked = (*found, *self.sandbox.network.blocked_since(refused_before), *services)
        return CommandResult(
            ending.exit_code,
            ending.signal,
            b"",
            0,
            0,
            timed_out=ending.timed_out,
            leftovers=ending.leftovers,
            blocked=blocked,
        )

    def piped_program(self, command: CommandRequest) -> AbstractAsyncContextManager[PipedProgram]:
        from kaa.workspace.piped_program import run_piped  # lazy: few conversations have use for it

        return run_piped(command, self.attach)

    async def run_fed(self, command: CommandRequest, streams: FedStreams) -> FedResult:
        from kaa.workspace.fed_command import run_fed  # lazy: few conversations have hooks

        policy, refused_before = self.sandbox.policy, self.sandbox.network.mark()
        ended, output, errors = await run_fed(command, streams, self.attach)
        code = 128 + (ended.signal or 0) if ended.exit_code is None else ended.exit_code
        hosts = self.sandbox.network.blocked_since(refused_before) if code else ()
        told = self._told_by(command, errors, hosts, policy, failed=True) if code else ()
        return FedResult(code, output, errors, ended.timed_out, (*hosts, *told))

    def expect_parsing(self, language: str, path: str, before: bytes | None) -> None:
        self._parser().expect(language, self._absolute(path), before)

    async def parse(self, language: str, before: bytes | None, after: bytes) -> "Parsed | None":
        return await self._parser().parse(language, before, after)

    def closed_program(self, script: str) -> AbstractAsyncContextManager[PipedProgram]:
        from kaa.workspace.closed_program import run_closed  # lazy: few conversations have use for it

        return run_closed(
            script,
            root=self._root,
            home=self._home,
            environment=self._own_environment,
            sandbox=self.sandbox.options,
            unconfined=self.sandbox.mode == "full-access",
        )

    async def let_go(self) -> None:
        await self.sandbox.show()

    async def close(self) -> None:
        for narrower in tuple(self._narrowed):
            await narrower.close()
        if self in self._narrowed_beside:
            self._narrowed_beside.remove(self)
        await self._processes.close()
        await self._runner.close()
        await self._searcher.close()
        self._files.close()
        if self._parser.cache_info().currsize:
            self._parser().close()
        await self._outside.close()
        await self.sandbox.close()

    async def _run_in_background(
        self, command: CommandRequest, on_output: OnOutput | None, terminal: "ProgramTerminal | None"
    ) -> CommandResult:
        with self.sandbox.findings.in_background(self._listener):
            watching = asyncio.create_task(self._watch_for_servers())
            try:
                return await self.run(command, on_output, "background", terminal)
            finally:
                watching.cancel()
                await asyncio.wait({watching})
                if self.sandbox.open_ports:
                    await self._introduce_servers()  # one may have ended

    async def _watch_for_servers(self) -> None:
        """Tell of servers in the first minute of a background process; later ones are seen when a command ends."""
        for seconds in _SERVER_STARTS_SECONDS:
            await asyncio.sleep(seconds)
            await self._introduce_servers()

    async def _introduce_servers(self) -> None:
        for sentence in await self.sandbox.ports.look():
            self._listener.say(sentence)

    def _logs(self) -> str | None:
        """Where whole outputs are kept; without a place for them their ends have to do."""
        with contextlib.suppress(OSError):
            return self._places.output
        return None

    async def _environment(self, command: CommandRequest) -> dict[str, str]:
        """What a command gets, unless it asks for changes."""
        from kaa.workspace.environment import command_environment  # lazy, as above

        confining = await self.sandbox.environment()
        if self._commands_environment is None or self._commands_environment[0] is not confining:
            own = command_environment(self._own_environment, confined=bool(confining))
            installing = installation_environment(confining[CACHES], own) if confining else {}
            ways = {True: {**own, **installing, **confining}, False: {**own, **confining}}
            self._commands_environment = (confining, ways)
        variables = self._commands_environment[1][command.finds_installed]
        if not self.sandbox.admitted:
            return variables
        from kaa.workspace.sandbox.outside_services import variables_of  # lazy: few services are admitted

        return {**variables, **variables_of(self.sandbox.admitted, self._own_environment)}

    async def _reading(self, path: str, request: Mapping[str, object]) -> Frame:
        """Look at a file, or say what keeps it from being looked at."""
        if not self.sandbox.confined and self.sandbox.mode != "full-access":
            await self._refuse_secrets(path)
        if self._may_have_appeared(self._absolute(path)):
            await self.sandbox.show()
        try:
            return await self._files.call(path, request)
        except OSError as error:
            hidden = self.sandbox.denials().of_read(self._absolute(path))
            if hidden is not None:
                raise BlockedError(hidden, path) from error
            raise

    def _found_outside(self, text: str) -> tuple[str, ...]:
        """Where the user finds files in the private /tmp that a text names, each once."""
        return self.sandbox.private_tmp.new_in(text) if "tmp/" in text else ()

    def _may_have_appeared(self, path: str) -> bool:
        """Whether what the user has at a path is shown only after it was looked for."""
        if is_below(path, (self._root,)):
            return False  # the project itself may be in /tmp
        in_home = os.path.dirname(path) == os.path.normpath(self._home)
        return in_home or is_below(path, self.sandbox.temporary)

    async def _refuse_secrets(self, path: str) -> None:
        """Where no kernel does it, hide by name what is to be hidden. Commands are not run there without a yes."""
        frame = await self._files.call(path, {"op": "stat", "path": path})
        info = parse(frame.header, _InfoReply).info
        for name in (self._absolute(path), info.real_path if info is not None else ""):
            if hidden := self.sandbox.denials().of_read(name):
                raise BlockedError(hidden, path)

    async def _writing(
        self, path: str, data: bytes, expected: Expected, attributes: Mapping[str, object], owner: "Owner"
    ) -> Frame:
        request: dict[str, object] = {**self._naming, "op": "write", "path": path, **attributes}
        match expected:
            case Absent():
                request["absent"] = True
            case FileDigest(value):
                request["digest"] = value
        if (permitted := self.sandbox.permitted_writes) is None:
            return await self._changing(path, request, data)
        async with permitted.noting(self, self._absolute(path), data, owner):
            return await self._changing(path, request, data)

    async def _changing(self, path: str, request: Mapping[str, object], data: bytes) -> Frame:
        """Change a file, or say what keeps it from being changed."""
        absolute = self._absolute(path)
        denied = self.sandbox.denials().of_write(absolute)
        if denied is not None and denied.kind != "write":
            raise BlockedError(denied, path)  # a name that does not exist yet: the kernel could not tell
        carrier = Carrier(self._listener, absolute, content=data)
        try:
            async with self.sandbox.guarded(carrier):
                frame = await self._files.call(path, request, data)
        except BlockedError:
            raise
        except OSError as error:
            if carrier.found:  # it was moved away while it was written
                raise BlockedError(carrier.found[0], path) from error
            if error.errno in _REFUSALS and self.sandbox.confined:
                named = self.sandbox.denials().of_named(absolute) if error.errno in _MOUNTED else None
                raise BlockedError(denied or named or Blocked("write", absolute), path) from error
            raise
        if carrier.found:
            raise BlockedError(carrier.found[0], path)
        return frame

    def _services(self, argv: Sequence[str], tail: bytes, failed: "Sequence[FailedConnection]") -> tuple[Blocked, ...]:
        """The services and processes outside the sandbox that a command looked for."""
        if not self.sandbox.confined or not (failed or tail):
            return ()
        from kaa.workspace.sandbox import outside_services  # lazy: many conversations run nothing

        text = tail.decode("utf-8", "replace")
        found = (
            *outside_services.blocked_connections(failed, self.sandbox.open_ports),
            *outside_services.missed_services(text, self._own_environment),
            *outside_services.traced_outside(text, " ".join(argv)),
        )
        return tuple(dict.fromkeys(one for one in found if one.kind != "socket" or not self.sandbox.is_own(one.what)))

    def _told_by(
        self, command: CommandRequest, tail: bytes, hosts: Sequence[Blocked], policy: Policy, *, failed: bool
    ) -> tuple[Blocked, ...]:
        """What a command says its policy kept it from; of the network only if neither proxy nor broker knows it."""
        if not tail:
            return ()
        denials = self.sandbox.denials(policy)
        read = denials.in_output if failed else denials.in_passing
        told = read(tail.decode("utf-8", "replace"), self._absolute(command.cwd), " ".join(command.argv))
        return tuple(one for one in told if one != Blocked("network")) if hosts else told

    @cached_property
    def _ripgrep(self) -> "Ripgrep":
        from kaa.workspace.environment import command_environment  # lazy, as above
        from kaa.workspace.ripgrep import Ripgrep  # lazy: most runs search nothing

        return Ripgrep(self._searcher, command_environment(self._own_environment, confined=True))

    def _sandbox_outside(self) -> Sandbox:
        open_to_all = SandboxOptions(mode="full-access")
        return Sandbox(self._root, self._home, open_to_all, self._places, self._own_environment, beside=self.sandbox)

    def _view_outside(self, sandbox: Sandbox, environment: Mapping[str, str]) -> "LocalWorkspace":
        view = LocalWorkspace(
            self._root, environment, self._home, sandbox, self._places, self._processes, follows_links=False
        )
        view._takes_input = False
        return view

    async def close_view(self) -> None:
        """Stop what runs in this view alone; its sandbox belongs to another one."""
        await self._runner.close()
        await self._searcher.close()
        self._files.close()

    def _absolute(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        return os.path.normpath(os.path.join(self._root, path))

    async def _existing(self, path: str) -> FileInfo:
        info = await self.stat(path)
        if info is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return info


def _parser(sandbox: Sandbox) -> "Parser":
    from kaa.workspace.parsing import Parser  # lazy, as said above

    return Parser(SlotRequests(sandbox, "parser"))


def _changed(environment: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """An environment with variables set or, with None, removed."""
    merged = {**environment, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _to_hosts(environment: Mapping[str, str]) -> dict[str, str]:
    """Have git connect to nothing on this machine: hooks of a repository here may be the model's, what it holds not."""
    from kaa.workspace.environment import git_settings  # lazy, as above

    changed = {**environment, **git_settings(environment, [("protocol.file.allow", "never")])}
    if _PROTOCOLS in changed:  # of the user, in the place of that setting
        changed[_PROTOCOLS] = ":".join(one for one in changed[_PROTOCOLS].split(":") if one != "file")
    return changed


async def _permit_all(_files: int, _size: int) -> bool:
    return True
