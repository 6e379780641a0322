"""A program with a sandbox of its own: it has the rights that the user granted it, and those of no conversation.

The sandbox lives as long as the program. What the user changes about the sandbox of a project does not reach it.
"""

import asyncio
import contextlib
import glob
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from kaa.hands.policy import Tier
from kaa.host.paths import is_below
from kaa.host.programs import host_programs
from kaa.workspace.blocked import Blocked
from kaa.workspace.commands import CommandRunner, Ending, OwnStreams
from kaa.workspace.network.allow_list import GrantedAddress, NetworkRule, NetworkState
from kaa.workspace.network.destinations import is_address
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.roots import real_root
from kaa.workspace.sandbox.sandbox import Sandbox

ProjectAccess: TypeAlias = Literal["none", "read", "write"]

# Everything else may be a key, under whatever name.
_VARIABLES = (
    r"PATH|HOME|USER|LOGNAME|SHELL|HOSTNAME|TERM|COLORTERM|NO_COLOR|LANG|LANGUAGE|LC_[A-Z]+|TZ|TZDIR"
    r"|LD_LIBRARY_PATH|SSL_CERT_DIR|NODE_USE_SYSTEM_CA|DENO_TLS_CA_STORE|UV_SYSTEM_CERTS|UV_NATIVE_TLS"
    r"|XDG_(?:CONFIG|DATA|STATE)_HOME|GOROOT|JAVA_HOME|DOTNET_ROOT|NVM_DIR|VOLTA_HOME|PYENV_ROOT|ASDF_DATA_DIR"
)
CERTIFICATES = (
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NIX_SSL_CERT_FILE", "PIP_CERT"),
    *("AWS_CA_BUNDLE", "GIT_SSL_CAINFO", "DENO_CERT", "CARGO_HTTP_CAINFO", "HTTPLIB2_CA_CERTS", "npm_config_cafile"),
)
"""Variables that name a file with certificates of authorities."""
# These hold files, processes, sockets and single hosts; others let some of that through (docs/sandbox.md).
_EFFECTIVE_TIERS = ("full", "bwrap")


class ProgramRights(msgspec.Struct, frozen=True):
    """What a program may do besides reading the system and the toolchains of the home.

    Attributes:
        name: names its directories for temporary files.
        data: a directory that exists, which it can read and write.
        kept: a further such directory, which it shares with others of a plugin; empty if there is none.
        code: the folder that it is loaded from, which it can read and not write; empty where it is installed as other
            programs are.
        cwd: the directory that it begins in; empty for `code`.
        readable: files and folders besides those, which it can read and not write. Secrets in them stay hidden.
        access: what it may do there.
        hosts: what it may connect to, each as `--net` takes it; at public addresses, but for addresses that are named.
        own_hosts: rules of the user's own: hosts that they name exactly may also have private addresses.
        variables: environment variables besides the ordinary ones: named keys.
        private: directories that it cannot read whatever else it may: kaa's own.
        hidden: paths that the user hides from everything that runs in a sandbox, as `SandboxOptions` takes them.
        loaded: what kaa loads code from besides `code`: it cannot be written.
        replaced: what it sees in the place of directories, as `SandboxOptions` takes it.
        confined: whether a sandbox holds it to this; without one it has all rights of the user.
    """

    name: str
    data: str
    project: str
    kept: str = ""
    code: str = ""
    cwd: str = ""
    readable: tuple[str, ...] = ()
    access: ProjectAccess = "none"
    hosts: tuple[str, ...] = ()
    own_hosts: tuple[NetworkRule, ...] = ()
    variables: Mapping[str, str] = {}
    private: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    confined: bool = True

    def options(self, home: str) -> SandboxOptions:
        """The sandbox that allows this and nothing else.

        Raises:
            NetworkRuleError: a host is none.
        """
        if not self.confined:
            return SandboxOptions(mode="full-access")
        project, writes = real_root(self.project), self.access == "write"
        sees = (project,) if self.access != "none" else ()
        hosts = tuple(map(NetworkRule.parse, self.hosts))
        code = (self.code,) if self.code else ()
        seen = (*code, *self.readable)
        # Where the whole home is the project or named, it is read as commands read it.
        closes_home = not is_below(os.path.realpath(home), (*sees, *self.readable))
        return SandboxOptions(
            network=NetworkState(
                rules=tuple(one for one in hosts if any(o.covers(one) for o in self.own_hosts if not o.subdomains)),
                granted=hosts,
                addresses=tuple(GrantedAddress(one, one.host) for one in hosts if is_address(one.host)),
            ),
            root_writable=writes,
            writable=(self.data, *filter(None, (self.kept,))),
            hidden=(*self.hidden, *(f"!{glob.escape(one)}" for one in code), *(() if sees else (_escaped(project),))),
            closed=(home,) if closes_home else (),
            listed=(*sees, *seen),
            private=self.private,
            loaded=(*seen, *self.loaded),
            replaced=self.replaced,
        )


class UnconfinedError(Exception):
    """Nothing on this machine can confine a program."""


class ConfinedProgram:
    """A program that runs. Use `start`.

    Attributes:
        warnings: what this mechanism does not hold, in sentences.
    """

    def __init__(self, sandbox: Sandbox, command: "asyncio.Task[Ending]", ended: Callable[[], None]) -> None:
        self._sandbox = sandbox
        self._ended = ended
        self._command = command
        self._over = asyncio.create_task(self._close_after())
        self.tier: Tier = sandbox.policy.tier

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        rights: ProgramRights,
        streams: OwnStreams,
        *,
        environment: Mapping[str, str],
        report: Callable[[str], None],
        unconfined: bool = False,
        ended: Callable[[], None] = lambda: None,
    ) -> "ConfinedProgram":
        """Start a program in the strongest tier of this machine. It begins in `rights.cwd`.

        Args:
            argv: the program and its arguments. A name is found where commands of the model cannot write.
            rights: what it may do.
            streams: what it reads and writes. They are duplicated here: the caller can close them at once. The other
                ends see when the program closes them, and that it has ended when `wait` returns.
            report: told, in a sentence, of what the guard of the project moves away.
            unconfined: the user permits that it runs where no sandbox is possible.
            ended: called in a thread when nothing of a program runs any more that was started.

        Raises:
            UnconfinedError: no sandbox is possible here.
            NetworkRuleError: a host of the rights is none.
            OSError: the sandbox cannot be started.
        """
        sandbox = _sandbox(rights, environment)
        sandbox.findings.last.tell(report)
        with contextlib.ExitStack() as closing:
            owned = _duplicated(streams, closing)
            try:
                sandbox.start()
                await sandbox.status()
                if not sandbox.confined and rights.confined and not unconfined:
                    raise UnconfinedError("no sandbox is possible on this machine (`kaa doctor` says why)")
                variables = await _variables(sandbox, rights, environment)
            except BaseException:
                await sandbox.close()
                raise
            given = closing.pop_all()
        sandbox.settle()
        runner = CommandRunner(sandbox, only_reads=rights.access != "write")
        sandbox.on_flood(runner.stop)
        around = sandbox.guarded(None) if rights.access == "write" and sandbox.confined else contextlib.nullcontext()

        async def run() -> Ending:
            cwd = rights.cwd or rights.code or rights.data
            async with around:
                return await runner.run(argv, cwd=cwd, env=variables, timeout=None, output=owned, given=given.close)

        command = asyncio.create_task(run())
        command.add_done_callback(lambda _: given.close())  # also if it was not started
        return cls(sandbox, command, ended)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the mechanism of this machine does not hold of the rights, in sentences."""
        if self.tier in _EFFECTIVE_TIERS:
            return ()
        if self.tier == "none":
            return ("It runs without a sandbox, with all your rights.",)
        return (
            f"This machine has only the weaker sandbox {self.tier}: hosts cannot be permitted one by one, and other"
            " limits apply (docs/sandbox.md).",
        )

    def mark(self) -> int:
        """The present, for `blocked_hosts`."""
        return self._sandbox.network.mark()

    def blocked_hosts(self, since: int = 0) -> tuple[Blocked, ...]:
        """The hosts that it was kept from since a mark, or since its start, each once."""
        return self._sandbox.network.blocked_since(since)

    async def wait(self) -> Ending:
        """Wait until it has ended; nothing of it is left then. Cancelling this stops nothing.

        Raises:
            OSError: it could not be started, or the sandbox died.
        """
        await asyncio.wait({self._over})
        if self._command.cancelled():
            return Ending(None, signal.SIGTERM, 0, timed_out=False)
        return self._command.result()

    def end(self) -> None:
        """Send it TERM, and two seconds later KILL; a second call sends KILL at once. To all its processes."""
        self._command.cancel()

    async def _close_after(self) -> None:
        """End its sandbox when it has ended."""
        await asyncio.wait({self._command})
        try:
            await self._sandbox.close()
        finally:
            await asyncio.to_thread(self._ended)


def _sandbox(rights: ProgramRights, environment: Mapping[str, str]) -> Sandbox:
    home, root = environment.get("HOME") or os.path.expanduser("~"), real_root(rights.project)
    places = Places.of(environment, home, root, "extensions", rights.name)
    return Sandbox(root, home, rights.options(home), places, environment)


async def _variables(sandbox: Sandbox, rights: ProgramRights, environment: Mapping[str, str]) -> dict[str, str]:
    """Its environment. PATH leads nowhere that commands of the model can write."""
    known = await asyncio.to_thread(host_programs(environment).environment)  # looks at hundreds of links
    kept = {name: value for name, value in known.items() if name in CERTIFICATES or re.fullmatch(_VARIABLES, name)}
    return {**kept, **await sandbox.environment(), **rights.variables}


def _escaped(path: str) -> str:
    return glob.escape(os.path.realpath(path))


def _duplicated(streams: OwnStreams, closing: contextlib.ExitStack) -> OwnStreams:
    copies: list[int] = []
    for descriptor in streams.descriptors:
        copies.append(os.dup(descriptor))
        closing.callback(os.close, copies[-1])
    stdin, stdout, stderr, *further = copies
    return OwnStreams(stdin, stdout, stderr, tuple(further))
