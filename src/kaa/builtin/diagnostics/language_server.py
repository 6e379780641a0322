"""A language server of a project: started when it is needed, stopped when it is idle, and given up when it fails."""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

from kaa.builtin.diagnostics.edited import name_of
from kaa.builtin.diagnostics.problems import Problem, new_problems
from kaa.builtin.diagnostics.syntax import answer_of
from kaa.components.plugins.lsp import LanguageServer
from kaa.core.terminal_text import plain_text
from kaa.host.log import LOG
from kaa.lsp.errors import LanguageServerError, LanguageServerGoneError
from kaa.workspace.protocol import CommandRequest, PipedProgram, PipedPrograms, WiderError, Workspace

if TYPE_CHECKING:
    from kaa.lsp.session import LanguageSession
    from kaa.lsp.structure import Diagnostic

State: TypeAlias = Literal["not started", "starting", "running", "given up", "not installed"]

_STARTUP_SECONDS = 30.0
_SHUTDOWN_SECONDS = 1.0
_IDLE_SECONDS = 300.0
_MAX_RESTARTS = 3
_REASON_CHARACTERS = 200
# Programs of the project come first, as for somebody who works on it.
_PATH = 'PATH="$PWD/.venv/bin:$PWD/venv/bin:$PWD/node_modules/.bin:$PATH"; export PATH'
# The project cannot be written, and neither can the user's caches.
_ENVIRONMENT = {
    "XDG_CACHE_HOME": "/tmp/.cache",  # noqa: S108 - that of the sandbox
    "CARGO_TARGET_DIR": "/tmp/.cache/cargo-target",  # noqa: S108 - as above
    "GOCACHE": "/tmp/.cache/go-build",  # noqa: S108 - as above
    "GOPROXY": "off",
    "CARGO_NET_OFFLINE": "true",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class ProjectServer:
    """A language server, or of several the first that is installed.

    Args:
        choices: how they are started; not empty.
        confined: gives the project as the server sees it, which may change nothing.
        notice: told, in a sentence, once if it fails.
        is_configured: whether somebody wants it; otherwise nobody is told if it cannot even be started.
        idle_seconds: it is stopped when nothing was asked of it for so long.

    Attributes:
        name: of the choices, or of the one that is installed.
        reason: what it did wrong last; empty for nothing.
    """

    def __init__(
        self,
        choices: Sequence[LanguageServer],
        workspace: Workspace,
        confined: Callable[[], Workspace],
        notice: Callable[[str], object],
        *,
        is_configured: bool = True,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self.name = " or ".join(one.name for one in choices)
        self.state: State = "not started"
        self.reason = ""
        self._choices = choices
        self._workspace = workspace
        self._confined = confined
        self._root = os.path.normpath(os.path.join(workspace.root, choices[0].workspace_folder))
        self._notice = notice
        self._idle_seconds = idle_seconds
        self._lock = asyncio.Lock()
        self._running: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[LanguageSession] | None = None
        self._stop = asyncio.Event()
        self._idle: asyncio.TimerHandle | None = None
        self._users = 0
        self._crashes = 0
        self._has_told = self._is_closed = False
        self._is_expected = is_configured
        self._known: dict[str, list[Problem]] = {}  # by file: the errors that are no news

    @asynccontextmanager
    async def session(self) -> "AsyncIterator[LanguageSession]":
        """The server at work, started if need be. It is not idle until the context is left.

        Raises:
            LanguageServerError: it cannot be used.
        """
        self._users += 1
        if self._idle is not None:
            self._idle.cancel()
        try:
            yield await self._started()
        finally:
            self._users -= 1
            if not self._users:
                self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._stop.set)

    async def _started(self) -> "LanguageSession":
        if self.state in ("given up", "not installed"):
            raise LanguageServerError(f"the language server {self.name} is {self.state}")
        if self._is_closed:
            raise LanguageServerError(f"the language server {self.name} is not used any more")
        if self._running is None or self._running.done():
            self.state = "starting"
            self._stop.clear()
            self._known.clear()
            self._ready = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._ready))
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    async def learn(self, path: str, name: str, text: str) -> None:
        """Know the errors that a file has before it is edited. The arguments are those of an `EditedFile`.

        Raises:
            LanguageServerError: the server does not say.
        """
        async with self._lock, self.session() as session:
            await self._learn(session, path, name, text)

    async def find(self, found: list[Problem], path: str, name: str, before: str | None, after: str) -> None:
        """Find the errors that an edit made, in its file and then in those that depend on it.

        Args:
            path: absolute.
            before: what was in the file; None if it did not exist.

        Raises:
            LanguageServerError: the server does not say.
        """
        async with self._lock, self.session() as session:
            if before is None:
                self._known[name] = []
            else:
                await self._learn(session, path, name, before)
            # Before it said anything, nobody can tell which errors of other files are new.
            says_all = before is not None or len(self._known) > 1
            elsewhere = session.errors_elsewhere(path)
            session.show(path, self._language(path), after, is_new=before is None)
            now = self._problems(name, await session.errors(path))
            found += new_problems(self._known[name], now, before or "", after)
            self._known[name] = now
            for other, errors in {**session.errors_elsewhere(path), **await session.errors_of_open(path)}.items():
                other_name = name_of(other, self._workspace)
                now, was = self._problems(other_name, errors), self._known.get(other_name)
                if was is None:
                    was = self._problems(other_name, elsewhere.get(other, ())) if says_all else now
                found += new_problems(was, now)
                self._known[other_name] = now

    @asynccontextmanager
    async def showing(self, path: str, text: str) -> "AsyncIterator[LanguageSession]":
        """The server, for questions about a file. Nothing else is asked of it meanwhile.

        Args:
            path: of the file, absolute.

        Raises:
            LanguageServerError: it cannot be used.
        """
        async with self._lock, self.session() as session:
            session.show(path, self._language(path), text)
            yield session

    def not_told(self, problems: Iterable[Problem]) -> None:
        """The model was not told of new errors: those that are still there are news with its next edit."""
        for one in problems:
            with suppress(ValueError):
                self._known.get(one.path, []).remove(one)

    def stop(self) -> None:
        """Have it end. It is started again when it is needed."""
        self._stop.set()

    async def close(self) -> None:
        """End it, for good."""
        self._is_closed = True
        if self._idle is not None:
            self._idle.cancel()
        self.stop()
        if self._running is not None:
            await asyncio.wait({self._running})

    async def _learn(self, session: "LanguageSession", path: str, name: str, text: str) -> None:
        if name in self._known and session.text_of(path) == text:
            return
        session.show(path, self._language(path), text)
        self._known[name] = self._problems(name, await session.errors(path))

    def _language(self, path: str) -> str:
        languages = self._choices[0].languages
        return next((language for end, language in languages.items() if path.endswith(end)), "")

    def _problems(self, name: str, errors: "Iterable[Diagnostic]") -> list[Problem]:
        return [
            Problem(
                name,
                error.range.start.line + 1,
                error.range.start.character + 1,
                error.text,
                " ".join(str(part) for part in (error.source or self.name, error.code) if part is not None),
            )
            for error in errors
        ]

    async def _run(self, ready: "asyncio.Future[LanguageSession]") -> None:
        """Run it once, until it ends, is idle or is closed."""
        definition = self._choices[0]
        command = CommandRequest(
            ["/bin/sh", "-c", _script(self._choices)],
            cwd=self._root,
            env={**_ENVIRONMENT, **definition.environment},
            carries_findings=False,
            finds_installed=False,
        )
        try:
            if not await self._is_installed() or not isinstance(confined := self._confined(), PipedPrograms):
                self.state = "not installed"
                return
            from kaa.lsp.session import LanguageSession  # lazy: most machines have no server for most languages

            async with confined.piped_program(command) as program:
                session = LanguageSession(program.reader, program.writer, self._root, definition.settings)
                try:
                    problem = await self._serve(session, program, ready)
                finally:
                    await session.close(definition.shutdown_seconds or _SHUTDOWN_SECONDS)
            self._end(problem)
        except (OSError, WiderError) as error:
            self._end(f"it cannot be run: {error}")
        finally:
            if not ready.done():
                ready.set_exception(LanguageServerGoneError(self.reason or "it is not there"))
                ready.exception()  # perhaps nobody waits any more

    async def _is_installed(self) -> bool:
        """Whether there is a program. It is looked for without the processes of a sandbox that it would run in."""
        if not isinstance(self._workspace, PipedPrograms):
            return False
        names = (f"command -v {shlex.quote(one.command[0])}" for one in self._choices)
        found = await answer_of(("/bin/sh", "-c", f"{_PATH}; {' || '.join(names)}"), b"", self._workspace, 4096)
        if found and len(self._choices) > 1:
            self.name = os.path.basename(found.decode("utf-8", "replace").strip())
        return bool(found)

    async def _serve(
        self, session: "LanguageSession", program: PipedProgram, ready: "asyncio.Future[LanguageSession]"
    ) -> str:
        """See to it that it is ready, and wait. Returns what went wrong; empty if kaa stops it."""
        definition = self._choices[0]
        ended = asyncio.ensure_future(session.ended())
        stopped = asyncio.ensure_future(self._stop.wait())
        starting = asyncio.ensure_future(session.initialize(definition.initialization))
        try:
            first = {starting, ended, stopped}
            seconds = definition.startup_seconds or _STARTUP_SECONDS
            await asyncio.wait(first, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                return ""
            if not starting.done() and not ended.done():
                self._crashes = self._most_crashes  # it would hang again
                return f"it did not start within {seconds:g} seconds"
            if starting.done() and starting.exception() is None:
                self.state = "running"
                self._is_expected = True
                ready.set_result(session)
                await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if stopped.done():
                    return ""
            elif starting.done() and not ended.done():
                self._crashes = self._most_crashes
                return str(starting.exception())
            return ended.result() if ended.result() != "it ended" else await program.ending()
        finally:
            for task in (ended, stopped, starting):
                task.cancel()
            await asyncio.gather(ended, stopped, starting, return_exceptions=True)

    @property
    def _most_crashes(self) -> int:
        definition = self._choices[0]
        most = _MAX_RESTARTS if definition.max_restarts is None else definition.max_restarts
        return most if definition.restarts else 0

    def _end(self, problem: str) -> None:
        if not problem:
            self.state = "not started"
            return
        LOG.debug("language server %s: %s", self.name, problem)
        self.reason = _line_of(problem)
        self.state = "given up" if self._crashes >= self._most_crashes else "not started"
        self._crashes += 1
        if self._is_expected and not self._has_told:
            self._has_told = True
            with suppress(Exception):  # whoever showed it may be gone
                self._notice(f"language server {self.name}: {self.reason}")


def _line_of(problem: str) -> str:
    """The line that says most of what a program printed last."""
    lines = [line.strip() for line in plain_text(problem).splitlines() if line.strip()]
    found = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return found[:_REASON_CHARACTERS]


def _script(choices: Sequence[LanguageServer]) -> str:
    """Runs the first that is installed."""
    tries = (
        f"command -v {shlex.quote(one.command[0])} >/dev/null && exec {shlex.join(one.command)}" for one in choices
    )
    return "; ".join((_PATH, *tries))
