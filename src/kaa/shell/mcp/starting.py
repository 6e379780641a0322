"""Starts the program of a server in a sandbox of its own."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kaa.host.log import LOG
from kaa.host.paths import is_below, trail
from kaa.host.programs import host_programs
from kaa.host.shims import leads_to_shim
from kaa.mcp.errors import ServerGoneError
from kaa.mcp.http.discreet import discreetly
from kaa.mcp.parsing import cleaned
from kaa.shell.code_in_place import CodeInPlace, UnwrittenCode
from kaa.shell.mcp.approvals import ApprovalRecordsError
from kaa.shell.mcp.cause import Cause
from kaa.shell.mcp.code import CodeChangedError, UnknownCodeError, code_of
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.variables import VariableError
from kaa.shell.mcp.installed import INSTALLED
from kaa.shell.mcp.named_code import named_places
from kaa.shell.mcp.outside_folders import OutsideFolders
from kaa.shell.mcp.outside_programs import file_named_outside
from kaa.shell.mcp.own_folder import (
    line_elsewhere,
    meant_names,
    must_leave,
    variables_of_home,
    way_back,
    with_users_home,
)
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.readable import certificates, readable_places
from kaa.shell.mcp.rights import hindrance_of, own_rules, permissions_of, silence_of
from kaa.shell.mcp.runners import environment_of_uv
from kaa.shell.mcp.server_data import data_folder
from kaa.shell.mcp.unconfined import HiddenWordError, writable_word
from kaa.shell.settings import SettingsError
from kaa.workspace.blocked import Blocked
from kaa.workspace.commands import OwnStreams
from kaa.workspace.environment import is_secret
from kaa.workspace.places import Places
from kaa.workspace.sandbox.program import ConfinedProgram, ProgramRights, UnconfinedError

if TYPE_CHECKING:
    from kaa.shell.mcp.live_packages import LivePackages

_MAX_LINE_CHARACTERS = 1_000
_NO_DIRECTORY = "/dev/null"  # nothing can be below it: Python compiles again and keeps nothing
_PYTHON = re.compile(r"python3?[\d.]*")
_IGNORES_VARIABLES = re.compile(r"-[A-Za-z]*[EI][A-Za-z]*")
# Where package runners keep what they fetched, below the server's own folder. Their usual places cannot be written.
_CACHES = {
    "XDG_CACHE_HOME": "cache",
    "npm_config_cache": "cache",
    "UV_CACHE_DIR": "cache",
    "PIP_CACHE_DIR": "cache",
    "BUN_INSTALL_CACHE_DIR": "cache",
    "DENO_DIR": "cache/deno",
    "YARN_CACHE_FOLDER": "cache/yarn",
    "YARN_GLOBAL_FOLDER": "cache/yarn",
    "pnpm_config_store_dir": "cache/pnpm",
    "GOCACHE": "cache/go-build",
    "GOMODCACHE": "cache/go-mod",
    "UV_TOOL_DIR": "cache/uv-tools",
    "UV_TOOL_BIN_DIR": "cache/bin",
    "PIPX_HOME": "cache/pipx",
    "PIPX_BIN_DIR": "cache/bin",
    "PIPX_MAN_DIR": "cache/man",
}


_NO_SECRET = re.compile(r"[A-Za-z_-]{1,15}|\d{1,15}")

_EXCHANGED = (
    "it was ended, because {} changed while it ran, and it could load that with what only it may have."
    " The next use compares its packages, and asks if they are others"
)
_LEFT_OUT = (
    "kaa did not look at all of {} for code of projects that it loads: there are too many files, or that took too long."
    " So nobody is asked when such code changes. Keep its script in a separate folder, and name no such folder in it"
)
_WRITTEN = (
    "it was ended, because commands can write {} since {} became a place to work in, and it could load that later."
    " The next use starts it anew, from a copy where that is needed, and asks if its code is other code"
)


class ServerProcess:
    """See `kaa.mcp.stdio.ServerProgram`. What it prints to its standard error goes to the server's log."""

    def __init__(
        self,
        program: ConfinedProgram,
        stdin: int,
        stdout: int,
        stderr: int,
        log: Callable[[str], None],
        hindrance: Callable[[Sequence[Blocked], str, str], str],
        silence: str,
        discreet: Callable[[bytes], bytes],
    ) -> None:
        self._program = program
        self.discreet = discreet
        self._log = log
        self._hindrance = hindrance
        self._silence = silence
        self._ended_for = ""
        self._told = 0  # what the program was kept from before, errors have said
        self._cause = Cause()
        self._logging = asyncio.create_task(self._keep_log(stderr))
        self.stdin = stdin
        self.stdout = stdout
        self.end = program.end

    def end_for(self, reason: str) -> None:
        """End it at once, because something is others' that it may load and that only the user's may be."""
        self._ended_for = self._ended_for or reason
        self._program.end()
        self._program.end()  # this time with KILL

    async def wait(self) -> str:
        try:
            ending = await self._program.wait()
        except OSError as error:
            return f"it could not be run: {error.strerror or error}"
        if self._ended_for:
            return self._ended_for
        await asyncio.wait({self._logging}, timeout=1)
        cause = self._cause.text
        said = f": {cause}" if cause else ""
        hindrance = self._hindrance(self._program.blocked_hosts(), cause, "") or ("" if said else self._silence)
        kept = f". {hindrance}" if hindrance else ""
        if ending.exit_code is None:
            return f"it was ended by signal {ending.signal}{said}{kept}"
        return f"it exited with code {ending.exit_code}{said}{kept}"

    def take_hindrance(self, said: str = "", asked: str = "") -> str:
        since, self._told = self._told, self._program.mark()
        return self._hindrance(self._program.blocked_hosts(since), said, asked)

    async def _keep_log(self, descriptor: int) -> None:
        reader = asyncio.StreamReader(limit=64 * 1024)
        pipe = os.fdopen(descriptor, "rb", 0)
        inlet, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        rest = b""
        try:
            while chunk := await reader.read(64 * 1024):
                *lines, rest = (rest + chunk).split(b"\n")
                rest = rest[:_MAX_LINE_CHARACTERS]
                self._keep(lines)
            self._keep([rest])
        finally:
            inlet.close()

    def _keep(self, lines: list[bytes]) -> None:
        for line in lines:
            text = cleaned(self.discreet(line)[:_MAX_LINE_CHARACTERS].decode(errors="replace"))
            self._cause.add(text)
            if text := text.strip():
                self._log(text)


async def start_program(
    server: ConfiguredServer,
    place: ServerPlace,
    log: Callable[[str], None],
    admitted: Mapping[str, str],
    *,
    is_approved: bool = True,
) -> ServerProcess:
    """Start a server's program.

    Args:
        log: gets the lines that it prints to its standard error.
        admitted: the code that it may execute, as `code_of` says it.
        is_approved: whether the user approved that code. Other code sees nothing of what the server keeps, and keeps
            nothing for it.

    Raises:
        ServerGoneError: it cannot be started; the message says why and what to do.
    """
    closing = ExitStack()
    try:
        try:
            return await _start(server, place.seen_by(server), log, admitted, closing, is_approved=is_approved)
        except BaseException:
            await asyncio.to_thread(closing.close)
            raise
    except UnconfinedError as error:
        raise ServerGoneError(f"{error}. With --sandbox full-access it runs without one") from error
    except (VariableError, SettingsError, ApprovalRecordsError, OSError, ValueError) as error:
        raise ServerGoneError(str(error)) from error


async def _start(
    server: ConfiguredServer,
    place: ServerPlace,
    log: Callable[[str], None],
    admitted: Mapping[str, str],
    closing: ExitStack,
    *,
    is_approved: bool,
) -> ServerProcess:
    """See `start_program`. `closing` is closed when the program has ended."""
    entry, folders = server.entry, OutsideFolders()
    line = ServerCommandLine.of(server, place)
    base = line.base(place.project)
    if is_free := not entry.sandbox and not place.is_full_access():
        await asyncio.to_thread(_refuse_writable, line, place, admitted, folders)
    leaves = must_leave(line, place, admitted, is_free=is_free)
    words, variables = line.words, line.variables
    if leaves:
        names = () if is_free else await asyncio.to_thread(meant_names, server, line, place)
        there = line_elsewhere(line, base, is_free=is_free, names=names)
        words, variables = there.words, there.variables
    permissions = permissions_of(entry, place.project)
    here = _code_here(admitted, place)
    folder = kept_folder(server, place, admitted) if is_approved else _passing_folder(place, closing)
    data, cache = str(folder), str(folder / "cache")
    own = variables_of_home(words, place.environ, data) if entry.sandbox and not place.is_full_access() else {}
    if own:
        words = (words[0], *(with_users_home(word, place.user_home) for word in words[1:]))
    compiled = place_of_compiled(cache, has_approved_code=bool(admitted), may_write=permissions.project == "write")
    argv = [_program(words[0], base, place, admitted), *_python_options(words, compiled), *words[1:]]
    sandbox = place.sandbox()
    rights = ProgramRights(
        name=f"mcp-{server.name}" if is_approved else f"unapproved-mcp-{server.name}",  # caches of commands, too
        data=data,
        kept=server.source.data,
        code=server.source.root,
        project=place.project,
        cwd=data if leaves else base if line.cwd or permissions.project != "none" else data,
        readable=(*readable_places(server, line, place), *certificates(place)),
        access=permissions.project,
        hosts=permissions.hosts,
        own_hosts=own_rules(server, permissions, sandbox.network),
        variables={"PYTHONPYCACHEPREFIX": compiled}
        | own
        | {name: f"{data}/{where}" for name, where in _CACHES.items()}
        | ({} if permissions.project == "write" else environment_of_uv(line.words, base, place.project, cache))
        | dict(variables),
        private=(str(place.home.path),),
        hidden=sandbox.hidden,
        loaded=sandbox.loaded,
        confined=entry.sandbox,
    )
    hindrance = partial(_hindrance, server, place, data, leaves=leaves)
    code_places = _code_places(server, line, place)
    in_place = CodeInPlace(UnwrittenCode(code_places, place.environ, place.writable_now(), toolchains=False))
    in_place.open()
    closing.callback(in_place.close_from_thread)
    packages = await _watched(admitted, closing) if entry.sandbox and (variables or permissions.hosts) else None
    if await asyncio.to_thread(code_of, server, place, folders) != admitted:
        raise CodeChangedError
    _tell_left_out(folders, server, place, log)
    shown = admitted if permissions.project != "none" else dict(admitted.items() - here.items())
    if shown and entry.sandbox:
        rights = await asyncio.to_thread(_with_copies, rights, shown, place, closing)
    process = await _started(
        argv,
        rights,
        place,
        log,
        hindrance,
        unconfined=place.is_full_access(),
        ended=closing.close,
        silence=silence_of(server),
        discreet=discreetly(value for name, value in line.variables.items() if is_secret(name) and _is_random(value)),
    )
    if packages is not None:
        packages.tell(lambda package: _end_for(process, _EXCHANGED.format(package), server, place))
    in_place.tell(lambda path, writer: _end_for(process, _WRITTEN.format(path, writer), server, place))
    return process


def _is_random(value: str) -> bool:
    """Whether a value is no word, number or path, as tools and their arguments are called, too: PGPASSWORD=postgres."""
    return _NO_SECRET.fullmatch(value) is None and not os.path.lexists(value)


def kept_folder(server: ConfiguredServer, place: ServerPlace, admitted: Mapping[str, str]) -> Path:
    """Create the folder of what a server keeps in a project, unless it exists.

    Args:
        admitted: the code that it may execute, as `code_of` says it.

    Raises:
        OSError: it cannot be created.
    """
    return data_folder(place.home, server, place.project, _code_here(admitted, place))


def _code_here(admitted: Mapping[str, str], place: ServerPlace) -> dict[str, str]:
    """The code that commands of this run can write."""
    return {path: digest for path, digest in admitted.items() if place.can_write_now(path)}


def _passing_folder(place: ServerPlace, closing: ExitStack) -> Path:
    """A folder for what a server would keep, which is removed at its end."""
    places = Places.of(place.environ, place.user_home, place.project, "servers")
    closing.callback(places.close)
    folder = Path(places.work) / "data"
    (folder / "cache").mkdir(parents=True)
    return folder


async def _watched(code: Mapping[str, str], closing: ExitStack) -> "LivePackages | None":
    """Watch the installed packages of a server that has what commands have not, until its end."""
    if not any(digest.startswith(INSTALLED) for digest in code.values()):
        return None
    from kaa.shell.mcp.live_packages import LivePackages  # lazy: few servers have packages that commands can write

    packages = LivePackages(code)
    closing.callback(packages.close_from_thread)
    await packages.open()
    return packages


def _tell_left_out(
    folders: OutsideFolders, server: ConfiguredServer, place: ServerPlace, log: Callable[[str], None]
) -> None:
    if folders.left_out:
        log(said := _LEFT_OUT.format(folders.left_out))
        place.report(f"MCP server {server.name}: {said}")


def _end_for(process: ServerProcess, reason: str, server: ConfiguredServer, place: ServerPlace) -> None:
    """End a server at once, and say why."""
    process.end_for(reason)
    place.report(f"MCP server {server.name}: {reason}")


def _code_places(server: ConfiguredServer, line: ServerCommandLine, place: ServerPlace) -> Iterator[str]:
    """The files and folders that a server loads code from, as its command line, its variables and its plugin say it."""
    named = map(os.path.abspath, named_places(line, place, starts_there=bool(line.cwd)))
    paths = filter(None, (server.source.root, line.base(place.project) if line.cwd else "", *named))
    home = os.path.realpath(place.user_home)
    for path in dict.fromkeys(paths):
        beside = (path, os.path.realpath(path)) if os.path.isfile(path) else ()
        for one in (path, *map(os.path.dirname, beside)):  # it imports what lies beside it
            if not is_below(home, (os.path.realpath(one),)):  # projects come and go in the home
                yield one


def _hindrance(
    server: ConfiguredServer,
    place: ServerPlace,
    data: str,
    blocked: Sequence[Blocked],
    said: str,
    asked: str,
    *,
    leaves: bool,
) -> str:
    """What kept a server from its work, and what to do; empty if nothing is known."""
    kept = hindrance_of(server, place.project, place.user_home, data, blocked, said, asked)
    return kept or (way_back(server, said, place.project) if leaves else "")


def code_to_admit(server: ConfiguredServer, place: ServerPlace) -> Mapping[str, str]:
    """Return what the user is asked about before a server starts: what it executes and commands can write.

    Raises:
        UnknownCodeError: that cannot be known, or the server would be refused whatever the user said.
        OSError: something of it cannot be read.
    """
    code = code_of(server, place, folders := OutsideFolders())
    if not server.entry.sandbox and not place.is_full_access():
        try:
            _refuse_writable(ServerCommandLine.of(server, place), place, code, folders)
        except ServerGoneError as error:
            raise UnknownCodeError(str(error)) from error
    return code


def _refuse_writable(
    line: ServerCommandLine, place: ServerPlace, admitted: Mapping[str, str], folders: OutsideFolders
) -> None:
    """Refuse a program without a sandbox if it may execute what commands can write: they can still change it later.

    Raises:
        ServerGoneError: it may.
    """
    try:
        written = next(iter(admitted), None) or writable_word(line, place) or file_named_outside(line, place, folders)
    except HiddenWordError as error:
        raise ServerGoneError(str(error)) from error
    if written:
        raise ServerGoneError(
            f"it runs without a sandbox, and commands of the model can write {written}, with which they could run"
            " anything with your rights. Keep what it names out of projects (`docker run -v` may name a project as a"
            ' whole), or leave out "sandbox": false'
        )


def _with_copies(
    rights: ProgramRights, code: Mapping[str, str], place: ServerPlace, copies: ExitStack
) -> ProgramRights:
    """Rights with which a program sees copies of its code, as long as `copies` is open. Blocks."""
    from kaa.shell.mcp.copies import copy_code  # lazy: few servers execute code that commands can write

    places = Places.of(place.environ, place.user_home, place.project, "servers")
    copies.callback(places.close)
    return msgspec.structs.replace(rights, replaced=copy_code(code, place, places.work))


async def _started(
    argv: list[str],
    rights: ProgramRights,
    place: ServerPlace,
    log: Callable[[str], None],
    hindrance: Callable[[Sequence[Blocked], str, str], str],
    *,
    unconfined: bool,
    ended: Callable[[], None],
    silence: str,
    discreet: Callable[[bytes], bytes],
) -> ServerProcess:
    with ExitStack() as ours, ExitStack() as theirs:

        def pipe(*, we_write: bool) -> tuple[int, int]:
            read, write = os.pipe()
            mine, other = (write, read) if we_write else (read, write)
            ours.callback(os.close, mine)
            theirs.callback(os.close, other)
            return mine, other

        stdin, stdout, stderr = pipe(we_write=True), pipe(we_write=False), pipe(we_write=False)
        program = await ConfinedProgram.start(
            argv,
            rights,
            OwnStreams(stdin[1], stdout[1], stderr[1]),
            environment=place.environ,
            report=place.report,
            unconfined=unconfined,
            ended=ended,
        )
        LOG.info("MCP server %s started in tier %s", rights.name, program.tier)
        for warning in program.warnings if rights.hosts or program.tier == "none" else ():
            log(warning)
        ours.pop_all()
        return ServerProcess(program, stdin[0], stdout[0], stderr[0], log, hindrance, silence, discreet)


def _program(name: str, base: str, place: ServerPlace, admitted: Mapping[str, str]) -> str:
    programs = host_programs(place.environ)
    if "/" in (expanded := os.path.expanduser(name)):
        path = os.path.abspath(os.path.join(base, expanded))
        if not leads_to_shim(path, tuple(trail(path))):
            return os.path.join(base, expanded)
        name = path
    if (found := programs.find(name)) is not None:
        return found
    exposed = programs.exposed(name)
    if exposed is not None and os.path.realpath(exposed) in admitted:  # `npm link`: the user approved it
        return exposed
    raise ValueError(programs.refusal(name) or f"{name} is not installed, or not in a directory of PATH: install it")


def place_of_compiled(cache: str, *, has_approved_code: bool, may_write: bool) -> str:
    """Return where a server's Python keeps compiled modules; a path below which nothing can be if it keeps none.

    Python would execute compiled modules in the place of the code that the user approved: those that commands put into
    `__pycache__`, and those that earlier code of the project left in the cache. And the cache has all folders above the
    code by their names, of which the guard would move `.kaa` away while a server that may write the project starts.

    Args:
        may_write: it may write the project.
    """
    return _NO_DIRECTORY if has_approved_code or may_write else f"{cache}/python"


def _python_options(words: Sequence[str], compiled: str) -> tuple[str, ...]:
    """What tells a Python that ignores its variables (`-E`, `-I`) where compiled modules are."""
    ignores = _PYTHON.fullmatch(os.path.basename(words[0])) and any(map(_IGNORES_VARIABLES.fullmatch, words[1:]))
    return ("-X", f"pycache_prefix={compiled}") if ignores else ()
