"""Gathers the briefing in a moment; what takes longer is left out."""

import asyncio
import heapq
import os
import posixpath
from collections.abc import Callable, Coroutine, Sequence
from functools import partial

from kaa.builtin.amounts import counted
from kaa.builtin.briefing import HEADING
from kaa.builtin.project_facts import facts_of
from kaa.core.budget import amount
from kaa.ext.api import AssistantMessage, CommandRequest, ConversationContext
from kaa.session.changed_paths import changed_paths
from kaa.workspace.git import ProjectRepository
from kaa.workspace.protocol import DirEntry, Workspace

_MOST_FILES = 1000
_MOST_CHARACTERS = 590  # less than 150 tokens
_LISTED_CHARACTERS = 160
_MOST_TESTS = 3
_IN_BRANCHES = "-_./+#@=,"
# Of what PATH leads to, which may be the project's, nothing is executed: the shell's own commands only.
_SYSTEM = '. /etc/os-release 2>/dev/null; echo "${PRETTY_NAME:-$0}"; for p in "$@"; do\n'
_PROGRAMS = (
    *("python3", "uv", "node", "npm", "pnpm", "go", "cargo", "java", "ruby", "php"),
    *("gcc", "clang", "make", "cmake", "git", "rg", "jq", "docker"),
)
_SCRIPT = f'{_SYSTEM}command -v "$p" >/dev/null && echo "$p"; done; true'


async def briefing_of(context: ConversationContext, seconds: float) -> str:
    """The briefing; empty where neither the project nor a limit gives anything to say."""
    workspace = context.workspace
    limits = ", ".join(f"{amount(one.measure, one.limit)} for this {one.scope}" for one in context.limits)
    is_wanted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    if limits:
        is_wanted.set_result(True)
    (facts, git), system, listing = await asyncio.gather(
        _about_project(context, seconds, is_wanted),
        _in_time(_system, workspace, is_wanted, seconds),
        _in_time(_listing, workspace, is_wanted, seconds),
    )
    if not any((facts, git, limits)):
        return ""
    lines = (system, facts, git, limits and f"Limits: {limits}", listing)
    return "\n".join([HEADING, *(line for line in lines if line)])[:_MOST_CHARACTERS]


async def _about_project(context: ConversationContext, seconds: float, is_wanted: asyncio.Future[bool]) -> list[str]:
    """The lines about the project and its repository; says as soon as there is one, or that there is none."""
    works = (_project, partial(_git, context))
    try:
        return await asyncio.gather(*(_in_time(work, context.workspace, is_wanted, seconds) for work in works))
    finally:
        _settle(is_wanted, False)


def _settle(future: asyncio.Future[bool], value: bool) -> None:
    if not future.done():
        future.set_result(value)


async def _in_time(
    work: Callable[[Workspace, asyncio.Future[bool]], Coroutine[object, object, str]],
    workspace: Workspace,
    is_wanted: asyncio.Future[bool],
    seconds: float,
) -> str:
    """What the work gives; nothing if it fails or takes too long, because nothing depends on it.

    It begins here: a coroutine that is made before a cancelled task begins would never be awaited.
    """
    try:
        return await asyncio.wait_for(work(workspace, is_wanted), seconds)
    except (TimeoutError, OSError):
        return ""


async def _project(workspace: Workspace, is_wanted: asyncio.Future[bool]) -> str:
    facts = await facts_of(workspace)
    if facts.languages or facts.tests:
        _settle(is_wanted, True)
    languages = f"Project: {', '.join(facts.languages)}" if facts.languages else ""
    tests = " or ".join(f"`{command}`" for command in facts.tests[:_MOST_TESTS])
    return "\n".join(filter(None, (languages, tests and f"Tests: {tests}")))


async def _git(context: ConversationContext, workspace: Workspace, is_wanted: asyncio.Future[bool]) -> str:
    git = ProjectRepository(workspace)
    head = await git.head()
    if head is None:
        return ""
    _settle(is_wanted, True)
    where = f"commit {head.name[:12]}, no branch" if head.detached else f"branch {_plain(head.name)[:80]}"
    changed = await git.changed_files(_MOST_FILES, untracked=True)
    if changed is None:
        return f"Git: {where}"
    more = "more than " if changed.more else ""
    paths = _of_others(changed.paths, context)
    state = f"{more}{counted(len(paths), 'file')} not committed" if paths else "nothing to commit"
    return f"Git: {where}, {state}"


def _of_others(paths: Sequence[str], context: ConversationContext) -> list[str]:
    """The paths without those that the model itself edited, since the briefing tells of the user's work."""
    replies = (one for one in context.session.messages if isinstance(one, AssistantMessage))
    calls = (call for reply in replies for call in reply.tool_calls)
    own = {
        posixpath.join(context.workspace.root, path)
        for call in calls
        for path in changed_paths(call.name, call.arguments)
    }
    # git names them from the top of the repository, of which the project may be a folder.
    return [path for path in paths if not any(one.endswith(f"/{path}") for one in own)]


async def _listing(workspace: Workspace, is_wanted: asyncio.Future[bool]) -> str:
    """What is in the project's root, directories first, as far as there is room."""
    if not await is_wanted:
        return ""
    first = heapq.nsmallest(_LISTED_CHARACTERS, await workspace.list("."), key=_directories_first)
    entries = [one for one in first if one.name != ".git" and _plain(one.name) == one.name]
    names = [f"{one.name}/" if one.kind == "directory" else one.name for one in entries]
    listed = " ".join(names)
    if len(listed) > _LISTED_CHARACTERS:
        listed = f"{listed[:_LISTED_CHARACTERS].rpartition(' ')[0]} …"
    return f"Files: {listed}" if listed else ""


def _directories_first(entry: DirEntry) -> tuple[bool, str]:
    return entry.kind != "directory", entry.name


def _plain(branch: str) -> str:
    """The name of a branch without what could make more than a name of it, such as the blanks that git permits."""
    return "".join(one if one.isalnum() or one in _IN_BRANCHES else "?" for one in branch)


async def _system(workspace: Workspace, is_wanted: asyncio.Future[bool]) -> str:
    """The system, and the programs there that people build software with; looked for only if that is wanted."""
    if not await is_wanted:
        return ""
    kernel = os.uname()
    request = CommandRequest(
        ["/bin/sh", "-c", _SCRIPT, kernel.sysname, *_PROGRAMS], spill=False, carries_findings=False
    )
    result = await workspace.run(request)
    if result.exit_code != 0:
        return ""
    name, *programs = result.tail.decode("utf-8", "replace").splitlines()
    return f"System: {name[:60]} {kernel.machine}; {' '.join(one for one in programs if one in _PROGRAMS)}"
