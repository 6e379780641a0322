"""What extension processes get from kaa: permissions that the user grants, a start in a sandbox, keys."""

import asyncio
import glob
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from kaa.ext.asking import Asker, NobodyToAskError, confirm
from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.process.host import EventBus, ExtensionProcess, NotPermittedError, program_of
from kaa.ext.process.manifest import Manifest
from kaa.ext.scope import Scope
from kaa.host import lone_pythons
from kaa.host.log import LOG
from kaa.shell.code_in_place import CodeInPlace, UnwrittenCode
from kaa.shell.extensions.granted_keys import GrantedKeys
from kaa.shell.extensions.permitting import GrantedPermissions
from kaa.shell.extensions.piped_program import ExtensionPipes, Pipes
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.program import ConfinedProgram, ProgramRights, UnconfinedError

_DECLINED = "Extension {} is not started: you did not permit what it asks for. `kaa ext permit {}` permits it"


class ExtensionProcesses:
    """See `kaa.ext.process.host.ProcessHost`.

    Args:
        home: has the records, the keys and the data of extensions.
        environ: the user's environment variables.
        project: the directory that kaa was started in.
        report: told, in a sentence, of what the user should know.
        is_full_access: whether the user chose to do without a sandbox.
        scopes: gives what the loaded extensions registered.
        sandbox: gives the sandbox of the project's commands; what is hidden or protected there is so for processes too.

    Attributes:
        project: the same.
        scopes: the same.
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
        """See `ProcessHost`."""
        self._report(text)

    def keep(self, life: asyncio.Task[None]) -> None:
        """See `ProcessHost`."""
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)

    async def close(self) -> None:
        """Wait until nothing is left of the processes; their extensions are unloaded already."""
        if self._lives:
            await asyncio.wait(self._lives)

    def granted(self, extension: Applicant) -> Permissions | None:
        """See `ProcessHost`."""
        return self._permissions.of(extension)

    async def permit(self, manifest: Manifest, asker: Asker) -> Permissions:
        """See `ProcessHost`. Several conversations ask once."""
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
        """See `ProcessHost`."""
        known = [self.project]  # where commands of this run cannot write an extension: it is mounted read-only
        with suppress(SettingsError):  # the start says it
            known += self._sandbox().writable
        self._code[manifest.folder] = UnwrittenCode((manifest.folder,), self._environ, known, toolchains=True)

    def data_folder(self, manifest: Manifest) -> str:
        """See `ProcessHost`. Default files that the manifest names are copied if they do not exist."""
        folder = self._home.extension_data / manifest.extension.key
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            for default in manifest.defaults:
                _copy(Path(manifest.folder), default.src, folder / os.path.basename(default.dest or default.src))
        except OSError as error:
            raise ExtensionError(f"Extension {manifest.extension.name}: cannot prepare {folder}: {error}") from error
        return str(folder)

    async def start(self, manifest: Manifest, permissions: Permissions) -> ExtensionProcess:
        """See `ProcessHost`."""
        real, code = _resolved(manifest), self._code[manifest.folder]
        self._refuse_written(manifest, code)
        in_place = CodeInPlace(code)
        try:
            python = lone_pythons.without_projects(program_of(real), self._environ)
            ordinary = self._sandbox()
        except OSError as error:
            raise ExtensionError(f"Extension {manifest.extension.name} cannot be started: {error}") from error
        except SettingsError as error:
            raise ExtensionError(f"Extension {manifest.extension.name} cannot be started: {error}") from error
        rights = ProgramRights(
            name=manifest.extension.key,
            code=real.folder,
            readable=python.readable,
            data=self.data_folder(manifest),
            project=self.project,
            access=permissions.project,
            hosts=permissions.hosts,
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
        """See `ProcessHost`."""
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
