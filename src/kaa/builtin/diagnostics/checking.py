"""Checks files after they were edited: within a second, and without a word where nothing can be said."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from kaa.builtin.diagnostics.edited import EditedFile, content_of, contents_of, name_of, paths_of
from kaa.builtin.diagnostics.language_server import ProjectServer
from kaa.builtin.diagnostics.problems import MARK, Problem, lines_of
from kaa.builtin.diagnostics.ruff import CONFIGURATIONS, is_python, ruff_is_used, ruff_problems
from kaa.builtin.diagnostics.server_pool import ServerPool, find_problems
from kaa.builtin.diagnostics.syntax import expect_syntax_problems, syntax_problems
from kaa.components.plugins.lsp import LanguageServer
from kaa.core.messages import TextContent, ToolCall
from kaa.core.tool import ToolResult
from kaa.host.log import LOG
from kaa.workspace.protocol import Workspace

# Calls that were not permitted have no end.
_MOST_WAITING = 64
_KAA = "kaa"
# Checks that nobody waits for any more, on a busy machine.
_MOST_LATE = 16
_LATEST_SECONDS = 30.0

_Contents: TypeAlias = Mapping[str, tuple[str, bytes] | None]
ResultT = TypeVar("ResultT")


class _Begun(NamedTuple):
    """A call that is about to change files."""

    paths: tuple[str, ...]
    files: asyncio.Task[_Contents]


class Checks:
    """What a conversation keeps of its checks.

    Args:
        notice: told, in a sentence, which language servers fail.

    Attributes:
        configured: the language servers that the user, plugins and the project define.
    """

    def __init__(self, notice: Callable[[str], object]) -> None:
        self.configured: tuple[LanguageServer, ...] = ()
        self._notice = notice
        self._before: dict[tuple[str, str], _Begun] = {}  # by caller and call
        self._confined: WeakKeyDictionary[Workspace, Workspace] = WeakKeyDictionary()
        self._pools: WeakKeyDictionary[Workspace, ServerPool] = WeakKeyDictionary()
        self._at_work: set[asyncio.Task[Any]] = set()
        self._awaited: set[asyncio.Task[list[Problem]]] = set()  # by who made an edit, after its result
        self._late: dict[str, list[tuple[EditedFile, list[Problem]]]] = {}  # by caller

    async def before(self, call: ToolCall, workspace: Workspace, *, caller: str = "", is_full: bool) -> None:
        """Remember what is in the files that a call is about to change: it is read before anything later is written.

        Args:
            caller: who makes it (`ConversationContext.caller`).
            is_full: whether linters and language servers will check, too.
        """
        # The calls that make a patch are not checked one by one: a file may need what comes with the next.
        patched = {path for begun in self._before.values() for path in begun.paths} if caller == _KAA else set()
        paths = [path for path in paths_of(call) if path not in patched]
        if not paths:
            return
        learns = is_full and _is_served(workspace, caller)
        files = self._begin(self._contents(paths, workspace, learns=learns))
        self._before[caller, call.id] = _Begun(tuple(paths), files)
        while len(self._before) > _MOST_WAITING:
            del self._before[next(iter(self._before))]
        await asyncio.sleep(0)  # after which they were asked for

    async def _contents(self, paths: Sequence[str], workspace: Workspace, *, learns: bool) -> _Contents:
        """What is in files that are about to change. Has them parsed, and servers `learn` what is wrong in them."""
        files = {path: await content_of(path, workspace) for path in paths}
        for path, found in files.items():
            expect_syntax_problems(path, found, workspace)
        if learns:
            for path, data in filter(None, files.values()):
                learning = self.pool(workspace).learn(path, name_of(path, workspace), _text(data))
                _ = self._begin(learning)
        return files

    async def after(
        self,
        call: ToolCall,
        result: ToolResult,
        workspace: Workspace,
        *,
        caller: str = "",
        is_full: bool,
        seconds: float,
    ) -> ToolResult | None:
        """The result with the errors that the call made, or an earlier one for which they came too late; None for none.

        Args:
            caller: as for `before`.
            is_full: as for `before`.
        """
        before = self._before.pop((caller, call.id), None)
        made = None
        if before is not None and not result.is_error:
            made = await self._checked(before, result, workspace, caller=caller, is_full=is_full, seconds=seconds)
        return await self.with_late(made or result, workspace, caller=caller) or made

    async def with_late(self, result: ToolResult, workspace: Workspace, *, caller: str = "") -> ToolResult | None:
        """The result of any call with the errors of edits that came too late for theirs, if they still hold."""
        problems = await self._late_problems(workspace, caller)
        return _with_problems(result, problems) if problems else None

    async def left(self, workspace: Workspace, *, seconds: float) -> str:
        """Lines with the errors of edits that no result brought, if they still hold; empty for none.

        Args:
            seconds: how long to wait for checks of edits that are at work.
        """
        if self._awaited:
            await asyncio.wait(self._awaited, timeout=seconds)
        return "\n".join(lines_of(await self._late_problems(workspace, "")))

    async def _late_problems(self, workspace: Workspace, caller: str) -> list[Problem]:
        problems = [
            problem
            for edit, found in self._late.pop(caller, ())
            if (now := await content_of(edit.path, workspace)) is not None and now[1] == edit.after
            for problem in found
        ]
        return _most_telling((), (problems,))

    async def _checked(
        self,
        begun: _Begun,
        result: ToolResult,
        workspace: Workspace,
        *,
        caller: str,
        is_full: bool,
        seconds: float,
    ) -> ToolResult | None:
        before = await begun.files
        edits: list[EditedFile] = []
        linted: list[EditedFile] = []
        for path, was in before.items():
            now = await contents_of(path, workspace, CONFIGURATIONS if is_full and is_python(path) else ())
            if edit := _edit(was, now.file, workspace):
                edits.append(edit)
                linted += [edit] if ruff_is_used(now.others) else []
        served = edits if is_full and _is_served(workspace, caller) else []
        problems = await self._problems(edits, linted, served, workspace, caller, seconds)
        return _with_problems(result, problems) if problems else None

    def pool(self, workspace: Workspace) -> ServerPool:
        """The language servers of a project."""
        if workspace not in self._pools:
            confined = partial(self._confined_from, workspace)
            self._pools[workspace] = ServerPool(self.configured, workspace, confined, self._notice)
        return self._pools[workspace]

    @property
    def servers(self) -> list[ProjectServer]:
        """All language servers that were wanted so far."""
        return [server for pool in self._pools.values() for server in pool.servers]

    async def configure(self, servers: Sequence[LanguageServer]) -> None:
        """Use other language servers from now on."""
        if (configured := tuple(servers)) != self.configured:
            self.configured = configured
            await self._close_pools()

    async def close(self) -> None:
        """End what is still at work."""
        for task in self._at_work:
            task.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)
        await self._close_pools()
        for workspace in self._confined.values():
            await workspace.close()
        self._confined.clear()

    async def _close_pools(self) -> None:
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()

    async def _problems(
        self,
        parsed: Sequence[EditedFile],
        linted: Sequence[EditedFile],
        served: Sequence[EditedFile],
        workspace: Workspace,
        caller: str,
        seconds: float,
    ) -> list[Problem]:
        """What the checks find in time; the model gets the rest later: of servers with its next edit."""
        confined = partial(self._confined_from, workspace)
        parsing = [self._begin(syntax_problems(edit, workspace, confined)) for edit in parsed]
        linting = [self._begin(ruff_problems(edit, confined)) for edit in linted]
        pairs = [(edit, server) for edit in served for server in self.pool(workspace).of_file(edit.path)]
        findings: list[list[Problem]] = [[] for _ in pairs]
        serving = [self._begin(find_problems(found, *pair)) for found, pair in zip(findings, pairs, strict=True)]
        tasks: list[asyncio.Task[Any]] = [*parsing, *linting, *serving]  # any: some find, others return
        if not tasks:
            return []
        try:
            await asyncio.wait(tasks, timeout=seconds)
        finally:
            for edit, check in (*zip(parsed, parsing, strict=True), *zip(linted, linting, strict=True)):
                self._keep_late(edit, check, "" if caller == _KAA else caller)
            for serve, found, (_, server) in zip(serving, findings, pairs, strict=True):
                serve.add_done_callback(partial(_not_told, server, found, len(found)))
        return _most_telling([*map(_found, parsing)], [*findings, *map(_found, linting)])

    def _keep_late(self, edit: EditedFile, check: asyncio.Task[list[Problem]], caller: str) -> None:
        """Let a check go on for a while, for the next result of the one who made the edit."""
        if check.done():
            return
        if len(self._at_work) > _MOST_LATE:
            check.cancel()
            return
        asyncio.get_running_loop().call_later(_LATEST_SECONDS, check.cancel)
        self._awaited.add(check)
        check.add_done_callback(partial(self._came_late, edit, caller))

    def _came_late(self, edit: EditedFile, caller: str, check: asyncio.Task[list[Problem]]) -> None:
        self._awaited.discard(check)
        if found := _found(check):
            late = self._late.setdefault(caller, [])
            late.append((edit, found))
            del late[:-_MOST_LATE]

    def _begin(self, work: Coroutine[None, None, ResultT]) -> asyncio.Task[ResultT]:
        """Begin work that may go on when nobody waits for it any more. `close` ends it."""
        task = asyncio.create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        """What fails finds nothing: the edit was made, whatever becomes of its check."""
        self._at_work.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            LOG.debug("diagnostics: a check failed", exc_info=failure)

    def _confined_from(self, workspace: Workspace) -> Workspace:
        """The project as programs see it that nobody approved: they may read it, and use no network."""
        if workspace not in self._confined:
            self._confined[workspace] = workspace.narrowed(writable=(), hosts=())
        return self._confined[workspace]


def _is_served(workspace: Workspace, caller: str) -> bool:
    """Whether language servers check. Those of agents, which are many and have other sandboxes, would be too many."""
    return caller in ("", _KAA) and not workspace.is_narrowed


def _edit(was: tuple[str, bytes] | None, now: tuple[str, bytes] | None, workspace: Workspace) -> EditedFile | None:
    """What became of a file; None if nothing did, or it cannot be checked."""
    if now is None or (was is not None and was[1] == now[1]):
        return None
    return EditedFile(now[0], name_of(now[0], workspace), None if was is None else was[1], now[1])


def _not_told(server: ProjectServer, found: list[Problem], told: int, _: object) -> None:
    server.not_told(found[told:])


def _found(task: asyncio.Task[list[Problem]]) -> list[Problem]:
    """What a check found in time."""
    return task.result() if task.done() and not task.cancelled() and task.exception() is None else []


def _most_telling(parsed: Sequence[Sequence[Problem]], others: Sequence[Sequence[Problem]]) -> list[Problem]:
    """Of what several checks found in a line, that of the first; nothing else of a file that cannot be parsed."""
    unreadable = {problem.path for found in parsed for problem in found}
    kept = [problem for found in others for problem in found if problem.path not in unreadable]
    problems: dict[tuple[str, int], Problem] = {}
    for problem in (*chain.from_iterable(parsed), *kept):
        problems.setdefault((problem.path, problem.line), problem)
    return list(problems.values())


def _with_problems(result: ToolResult, problems: Sequence[Problem]) -> ToolResult:
    lines = lines_of(problems)
    details = {} if result.details is None else result.details
    if isinstance(details, dict):
        details = {**details, "newErrors": [line.removeprefix(MARK) for line in lines]}
    *others, last = result.content or (TextContent(""),)
    said = "\n".join(lines)
    content = TextContent(f"{last.text}\n\n{said}") if isinstance(last, TextContent) else TextContent(said)
    kept = others if isinstance(last, TextContent) else [*others, last]
    return msgspec.structs.replace(result, content=(*kept, content), details=details)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
