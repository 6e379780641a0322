"""What extension processes get from kaa: permissions that the user grants, a start in a sandbox, keys."""

import asyncio
import glob
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from kaa.ext.asking import Asker, NobodyToAskError, confirm
from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.process.host import EventBus, ExtensionProcess, NotPermittedError, program_of
from kaa.ext.process.manifest import Manifest
from kaa.ext.scope import Scope
from kaa.host import lone_pythons
from kaa.host.log import LOG
from kaa.llm.auth.credentials import Credential, CredentialStore
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.provider_table import BUILTINS
from kaa.shell.code_in_place import CodeInPlace, UnwrittenCode
from kaa.shell.extensions.permitting import GrantedPermissions
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.workspace.commands import OwnStreams
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.program import ConfinedProgram, ProgramRights, UnconfinedError


class Pipes:
    """Ten ends of pipes, as a context manager: all are closed at the end, but for kaa's once they are given away.

    Attributes:
        theirs: the ends for the program.
    """

    theirs: OwnStreams

    def __enter__(self) -> Self:
        self._closing, self._ours = ExitStack(), ExitStack()
        stdin, stdout, stderr, messages_in, messages_out = (self._pipe(writes) for writes in _WE_WRITE)
        self.theirs = OwnStreams(stdin[1], stdout[1], stderr[1], (messages_in[1], messages_out[1]))
        self._kept = stdin[0], stdout[0], stderr[0], messages_in[0], messages_out[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ours.close()
        self._closing.close()

    def connected(self, program: ConfinedProgram) -> "ExtensionPipes":
        """The program with kaa's ends, which are the caller's from now on."""
        self._ours.pop_all()
        return ExtensionPipes(program, *self._kept)

    def _pipe(self, we_write: bool) -> tuple[int, int]:
        read, write = os.pipe()
        ours, theirs = (write, read) if we_write else (read, write)
        self._ours.callback(os.close, ours)
        self._closing.callback(os.close, theirs)
        return ours, theirs


# In the order of the program's descriptors.
_WE_WRITE = (True, False, False, True, False)


class ExtensionPipes:
    """Implements `kaa.ext.process.host.ExtensionProcess`. The log names the hosts that its permissions excluded."""

    def __init__(
        self,
        program: ConfinedProgram,
        stdin: int,
        stdout: int,
        stderr: int,
        messages_in: int,
        messages_out: int,
    ) -> None:
        self._program = program
        self.end = program.end
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.messages_in = messages_in
        self.messages_out = messages_out

    async def wait(self) -> int:
        ending = await self._program.wait()
        if blocked := self._program.blocked_hosts():
            LOG.warning("an extension process was kept from %s", ", ".join(one.what for one in blocked))
        return -(ending.signal or 0) if ending.exit_code is None else ending.exit_code


class GrantedKeys:
    """Reads keys when they are needed. The token of a login is no key: it is kaa's alone."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._auth_file = home.path / "auth.json"
        self._environ = environ

    async def variables(self, permissions: Permissions) -> dict[str, str]:
        """The environment variables for the keys of the permissions; none for a key that the user has not."""
        found: dict[str, str] = {}
        for name in permissions.keys:
            key = await self.key(name)
            if key is not None:
                builtin = BUILTINS.get(name)
                found[builtin.key_variables[0][0] if builtin and builtin.key_variables else name] = key
        return found

    async def key(self, name: str) -> str | None:
        """The key of a provider, or the value of an environment variable; None if the user has none."""
        try:
            credential = await asyncio.to_thread(self._stored, name)  # it may run a command of the user's
        except CredentialError as error:
            LOG.warning("the key of %s for an extension cannot be read: %s", name, error)
            return None
        if credential is not None:
            return None if credential.kind == "oauth" else credential.secret
        builtin = BUILTINS.get(name)
        variables = [variable for variable, _ in builtin.key_variables] if builtin else [name]
        return next((self._environ[variable] for variable in variables if self._environ.get(variable)), None)

    def _stored(self, name: str) -> Credential | None:
        return CredentialStore(self._auth_file, self._environ).get(name)


_DECLINED = "Extension {} is not started: you did not permit what it asks for. `kaa ext permit {}` permits it"


class ExtensionProcesses:
    """Implements `kaa.ext.process.host.ProcessHost`.

    Args:
        home: has the records, the keys and the data of extensions.
        report: told, in a sentence, of what the user should know.
        is_full_access: whether the user chose to do without a sandbox.
        sandbox: gives the sandbox of the project's commands; what is hidden or protected there is so for processes too.

    Attributes:
        bus: the topics of extension processes.
    """

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        project: str,
        report: Callable[[str], None],
        is_full_access: Callable[[], bool],
        scopes: Callable[[], Sequence[Scope]],
        sandbox: Callable[[], SandboxOptions],
    ) -> None:
        self.project = project
        self.scopes = scopes
        self.bus = EventBus()
        self._home = home
        self._environ = environ
        self._report = report
        self._is_full_access = is_full_access
        self._sandbox = sandbox
        self._permissions = GrantedPermissions(home)
        self._keys = GrantedKeys(home, environ)
        self._asking = asyncio.Lock()
        self._declined: dict[str, Permissions] = {}  # until kaa ends
        self._told: set[str] = set()
        self._code: dict[str, UnwrittenCode] = {}  # by folders
        self._lives: set[asyncio.Task[None]] = set()

    def report(self, text: str) -> None:
        self._report(text)

    def keep(self, life: asyncio.Task[None]) -> None:
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)

    async def close(self) -> None:
        """Wait until nothing is left of the processes; their extensions are unloaded already."""
        if self._lives:
            await asyncio.wait(self._lives)

    def granted(self, extension: Applicant) -> Permissions | None:
        return self._permissions.of(extension)

    async def permit(self, manifest: Manifest, asker: Asker) -> Permissions:
        """Several conversations ask once."""
        async with self._asking:
            if (granted := self.granted(manifest)) is not None:
                return granted
            key, requested = manifest.extension.consent, manifest.requested
            if self._declined.get(key) == requested:
                raise NotPermittedError(_DECLINED.format(manifest.extension.name, manifest.extension.argument))
            details = self._permissions.details(manifest)
            try:
                question = f"Permit extension {manifest.extension.name}?"
                permitted = await confirm(asker, question, details, only_person=True)
            except NobodyToAskError as error:
                raise NotPermittedError(self._undecided(manifest)) from error
            if not permitted:
                self._declined[key] = requested
                raise NotPermittedError(_DECLINED.format(manifest.extension.name, manifest.extension.argument))
            self._permissions.grant(manifest)
            return requested

    def note_code(self, manifest: Manifest) -> None:
        known = [self.project]  # where commands of this run cannot write an extension: it is mounted read-only
        with suppress(SettingsError):  # the start says it
            known += self._sandbox().writable
        self._code[manifest.folder] = UnwrittenCode((manifest.folder,), self._environ, known, toolchains=True)

    def data_folder(self, manifest: Manifest) -> str:
        """Default files that the manifest names are copied if they do not exist."""
        folder = self._home.extension_data / manifest.extension.key
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            for default in manifest.defaults:
                _copy(Path(manifest.folder), default.src, folder / os.path.basename(default.dest or default.src))
        except OSError as error:
            raise ExtensionError(f"Extension {manifest.extension.name}: cannot prepare {folder}: {error}") from error
        return str(folder)

    async def start(self, manifest: Manifest, permissions: Permissions) -> ExtensionProcess:
        real, code = _resolved(manifest), self._code[manifest.folder]
        self._refuse_written(manifest, code)
        in_place = CodeInPlace(code)
        try:
            python = lone_pythons.without_projects(program_of(real), self._environ)
            ordinary = self._sandbox()
        except (OSError, SettingsError) as error:
            raise ExtensionError(f"Extension {manifest.extension.name} cannot be started: {error}") from error
        rights = ProgramRights(
            name=manifest.extension.key,
            code=real.folder,
            readable=python.readable,
            data=self.data_folder(manifest),
            project=self.project,
            access=permissions.project,
            hosts=permissions.hosts,
            own_hosts=ordinary.network.rules,
            # It tells Piglet's SDKs to use the descriptors 3 and 4.
            variables={**await self._keys.variables(permissions), "PIGLET_FD": "1"},
            private=(str(self._home.path),),
            hidden=(*ordinary.hidden, *(f"!{glob.escape(one)}" for one in python.readable)),
            loaded=ordinary.loaded,
        )
        with Pipes() as pipes:
            try:
                program = await ConfinedProgram.start(
                    [python.program, *real.arguments],
                    rights,
                    pipes.theirs,
                    environment=self._environ,
                    report=self._report,
                    unconfined=self._is_full_access(),
                    ended=in_place.close_from_thread,
                )
            except UnconfinedError as error:
                raise NotPermittedError(
                    f"Extension {manifest.extension.name} is not started: {error}. With --sandbox full-access"
                    " it runs without one"
                ) from error
            except (OSError, ValueError) as error:
                raise ExtensionError(f"Extension {manifest.extension.name} cannot be started: {error}") from error
            started = pipes.connected(program)
        self._watch(in_place, manifest, started)
        if permissions.hosts or program.tier == "none":
            self._tell_once(*(f"Extension {manifest.extension.name}: {warning}" for warning in program.warnings))
        LOG.info("extension %s started in tier %s", manifest.extension.name, program.tier)
        return started

    async def key(self, name: str) -> str | None:
        return await self._keys.key(name)

    def _refuse_written(self, manifest: Manifest, code: UnwrittenCode) -> None:
        """Refuse to start what commands can write since it was loaded: it was not loaded from a copy.

        Raises:
            ExtensionError: that is so.
        """
        if (found := code.writer()) is not None:
            raise ExtensionError(
                f"Extension {manifest.extension.name} is not started: commands can write {found[0]} since"
                f" {found[1]} became a place to work in. /reload asks whether to load a copy of it; if -e names it,"
                " start kaa again"
            )

    def _watch(self, in_place: CodeInPlace, manifest: Manifest, process: ExtensionPipes) -> None:
        """End a process when commands begin to be able to write the folder that it loads code from."""

        def end(folder: str, writer: str) -> None:
            self._report(
                f"Extension {manifest.extension.name} was ended: commands can write {folder} since {writer} became a"
                " place to work in, and it could load that later"
            )
            process.end()
            process.end()  # this time with KILL

        in_place.open()
        in_place.tell(end)

    def _undecided(self, manifest: Manifest) -> str:
        asked = manifest.requested.beyond(self._permissions.known(manifest) or Permissions()).sentences
        return (
            f"Extension {manifest.extension.name} is not started: you have not permitted what it asks for"
            f" ({'; '.join(asked) or 'nothing but its own data'}). `kaa ext permit {manifest.extension.argument}`"
            " permits it"
        )

    def _tell_once(self, *sentences: str) -> None:
        for sentence in sentences:
            if sentence not in self._told:
                self._told.add(sentence)
                self._report(sentence)


def _resolved(manifest: Manifest) -> Manifest:
    """With the real folder: what is around a link to it is hidden from the process."""
    return msgspec.structs.replace(manifest, folder=os.path.realpath(manifest.folder))


def _copy(folder: Path, source: str, target: Path) -> None:
    """Copy a file of an extension, unless there is something at its target.

    Raises:
        OSError: it cannot be copied, or leads out of the folder.
    """
    real = (folder / source).resolve()
    if not real.is_relative_to(folder.resolve()):
        raise PermissionError(f"{source} leads out of the folder of the extension")
    try:
        with real.open("rb") as content, target.open("xb") as copy:
            shutil.copyfileobj(content, copy)
    except FileExistsError:
        return
