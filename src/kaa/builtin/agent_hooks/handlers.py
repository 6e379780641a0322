"""Runs hooks of all kinds, at the same time, and says what they want together."""

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kaa.builtin.agent_hooks.inputs import HookState
from kaa.builtin.agent_hooks.rights import needs_safe_path, runs_sandboxed, without_packages, without_packages_inside
from kaa.builtin.agent_hooks.running import MAX_INPUT, MAX_OUTPUT, WAY_OUT, run_command
from kaa.components.hooks import HookDefinition
from kaa.components.hooks.outputs import Ended, HookOutcome, answer_of, failed, outcome_of
from kaa.core.budget import Budget
from kaa.core.tool import ToolError
from kaa.ext.api import CommandError, ConversationContext, NetworkError, TextContent
from kaa.ext.completions import CompletionError
from kaa.ext.errors import RegistrationError
from kaa.host.programs import SAFE_PATH, host_programs
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.builtin.agent_hooks.hidden_scripts import ShowScripts
    from kaa.components.agent_definition import ModelRole

_SECONDS: Final = {"UserPromptSubmit": 30.0}
_USUAL_SECONDS: Final = {"claude": 600.0, "codex": 600.0, "gemini": 60.0}
_AT_ONCE = 16
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")

UsersRights = Callable[[Workspace], Workspace]
"""Gives the project with the user's rights."""

KeptByPlugin = Callable[[Workspace, str], Workspace]
"""Gives the project with a folder besides, of what a plugin keeps."""

# Hooks that call a tool or a model cause no hooks themselves.
_CAUSE: ContextVar[HookDefinition | None] = ContextVar("cause", default=None)


class _Answer(msgspec.Struct, frozen=True):
    """What a model says about a prompt of a hook."""

    ok: bool
    reason: str = ""


def is_within_hook() -> bool:
    """Whether a hook causes what happens now."""
    return _CAUSE.get() is not None


def hooks_within(hooks: Sequence[HookDefinition]) -> Sequence[HookDefinition]:
    """The hooks that a call has: all, but of calls that hooks cause none; only the user's can refuse the project's."""
    cause = _CAUSE.get()
    if cause is None:
        return hooks
    return [hook for hook in hooks if not hook.of_project] if cause.of_project else ()


class Handlers:
    """Runs hooks.

    Args:
        models: the user's, by what they are for.
        show_scripts: for the user's own hooks in the sandbox.
    """

    def __init__(
        self,
        users_rights: UsersRights,
        models: "Mapping[ModelRole, str]",
        kept_by_plugin: KeptByPlugin,
        show_scripts: "ShowScripts",
    ) -> None:
        self._users_rights = users_rights
        self._kept_by_plugin = kept_by_plugin
        self._show_scripts = show_scripts
        self._roles = models
        self._unawaited: set[asyncio.Task[HookOutcome]] = set()

    async def run(
        self,
        hooks: Sequence[tuple[HookDefinition, dict[str, Any]]],
        context: ConversationContext,
        longest: float | None = None,
    ) -> list[tuple[int, HookOutcome]]:
        """Run hooks at the same time, identical ones once. Returns what each that was waited for wants, by its place.

        Args:
            longest: the most seconds for each; None for its own limit.
        """
        jobs: dict[tuple[object, ...], tuple[int, HookDefinition, str]] = {}
        for index, (hook, given) in enumerate(hooks):
            text = _encoded(given)
            same = (hook.dialect, hook.handler, hook.title, hook.url, hook.input, hook.of_project, hook.sandboxed)
            jobs.setdefault((*same, hook.may_be_of_commands, hook.variables, text), (index, hook, text))
        limit = asyncio.Semaphore(_AT_ONCE)
        state = context.state(HookState, HookState)

        async def one(hook: HookDefinition, text: str) -> HookOutcome:
            async with limit:
                token = _CAUSE.set(hook)
                try:
                    outcome = await self._outcome(hook, text, context, longest)
                finally:
                    _CAUSE.reset(token)
            held = hook.handler == "command" and runs_sandboxed(hook, context.workspace.root)
            source = f"{hook.source}, in the sandbox" if held else hook.source
            problems = () if hook in state.failed else outcome.problems
            if problems:
                state.failed.add(hook)
            notices = [f"Hook {hook.title[:80]!r} ({source}): {' '.join(one.split())}" for one in problems]
            new = [one for one in notices if one not in state.told]
            state.told.update(new)
            new = [_advised_once(one, state) for one in new]
            notices = [f"Hook {hook.title[:80]!r} ({source}): {' '.join(one.split())}" for one in outcome.messages]
            for notice in (*notices, *new):
                context.show.notice(notice, "warning")
            return outcome

        awaited: dict[asyncio.Task[HookOutcome], int] = {}
        for index, hook, text in jobs.values():
            task = asyncio.ensure_future(one(hook, text))
            if hook.waits or longest is not None:
                awaited[task] = index
            else:  # what an `async` hook says comes too late for a decision
                self._unawaited.add(task)
                task.add_done_callback(self._unawaited.discard)
        try:
            return list(zip(awaited.values(), await asyncio.gather(*awaited), strict=True))
        except BaseException:
            for task in awaited:
                task.cancel()
            await asyncio.gather(*awaited, return_exceptions=True)
            raise

    async def close(self) -> None:
        """End hooks that nobody waits for."""
        for task in self._unawaited:
            task.cancel()
        await asyncio.gather(*self._unawaited, return_exceptions=True)

    async def _outcome(
        self, hook: HookDefinition, text: str, context: ConversationContext, longest: float | None
    ) -> HookOutcome:
        usual = _SECONDS.get(hook.event, _USUAL_SECONDS[hook.dialect])
        seconds = min(hook.timeout or usual, longest or float("inf"))
        if len(text.encode()) > MAX_INPUT:
            problem = f"was not run: its input is longer than {MAX_INPUT // 1024} KiB"
            # Otherwise a long call would pass what a short one does not.
            return (
                HookOutcome("deny", f"it {problem}", problems=(problem,))
                if hook.event == "PreToolUse"
                else failed(hook, problem)
            )
        try:
            async with asyncio.timeout(seconds + 10 if hook.handler == "command" else seconds):
                match hook.handler:
                    case "command":
                        return outcome_of(hook, await self._command(hook, text, context, seconds))
                    case "http":
                        return await _http(hook, text)
                    case "mcp_tool":
                        return await _tool(hook, text, context)
                    case "prompt":
                        return await _prompt(hook, text, context, self._models(hook))
                    case "agent":
                        return await _agent(hook, text, context, self._models(hook))
        except TimeoutError:
            return failed(hook, f"took more than {seconds:g} seconds and was ended")

    def _models(self, hook: HookDefinition) -> list[str]:
        """What a hook wants to be answered by, the best first."""
        if not hook.model:
            return []
        from kaa.components.agent_definition.models import model_choice  # lazy: few hooks name models

        choice = model_choice(hook.model)
        return [one for one in (choice.reference, self._roles.get(choice.role, "")) if one]

    async def _command(self, hook: HookDefinition, text: str, context: ConversationContext, seconds: float) -> Ended:
        workspace = context.workspace
        changes: dict[str, str | None] = {}
        if not runs_sandboxed(hook, workspace.root):
            try:
                workspace = self._users_rights(workspace)
            except OSError as error:
                return Ended.unstarted(str(error))
            is_safe, programs = needs_safe_path(hook, context.workspace.root), host_programs()
            changes = {SAFE_PATH: "1" if is_safe else None}
            if is_safe and hook.sandboxed is None:
                try:
                    hook, changes["PATH"] = without_packages(hook, context.workspace.root, programs.environment())
                except OSError as error:
                    return Ended.unstarted(str(error))
        elif hook.event == "PreToolUse" or hook.data or hook.has_secrets:
            # Else a program or a module that commands wrote could answer for it, or get what only the plugin may have.
            changes = {**host_programs().changes(), SAFE_PATH: "1" if needs_safe_path(hook, workspace.root) else None}
            hook = hook if hook.of_project else without_packages_inside(hook, workspace.root)
        if hook.data:
            try:
                workspace = self._kept_by_plugin(workspace, hook.data)
            except OSError as error:
                return Ended.unstarted(str(error))
        elif not hook.of_project and runs_sandboxed(hook, workspace.root):
            from kaa.builtin.agent_hooks.hidden_scripts import with_scripts  # lazy: few hooks run in the sandbox

            try:
                hook, workspace = await with_scripts(hook, workspace, self._show_scripts)
            except OSError as error:
                return Ended.unstarted(str(error))
        variables = {**changes, **_variables(hook, workspace.root, text), **dict(hook.variables)}
        return await run_command(hook, text, workspace, variables, seconds)


def _encoded(given: dict[str, Any]) -> str:
    try:
        return msgspec.json.encode(given).decode()
    except UnicodeEncodeError:  # models write halves of surrogate pairs
        return json.dumps(given)


def _variables(hook: HookDefinition, root: str, text: str) -> Mapping[str, str | None]:
    session = str(msgspec.json.decode(text).get("session_id", ""))
    match hook.dialect:
        case "gemini":
            return {
                "GEMINI_PROJECT_DIR": root,
                "GEMINI_CWD": root,
                "GEMINI_SESSION_ID": session,
                "CLAUDE_PROJECT_DIR": root,
            }
        case "codex":
            return {"CODEX_PROJECT_DIR": root}
        case _:
            return {"CLAUDE_PROJECT_DIR": root, "CLAUDECODE": "1"}


def _advised_once(notice: str, state: HookState) -> str:
    """A notice without the advice that the user has read in another one."""
    if WAY_OUT not in notice:
        return notice
    has_read, state.advised = state.advised, True
    return notice.replace(WAY_OUT, "").rstrip() if has_read else notice


async def _http(hook: HookDefinition, text: str) -> HookOutcome:
    if hook.of_project:
        return failed(
            hook,
            "was not run: http hooks of projects and plugins are not supported, because the sandbox does not hold them",
        )
    from kaa.llm.http.live import LiveTransport  # lazy, both: few hooks ask servers
    from kaa.llm.http.transport import HttpRequest

    def value(found: re.Match[str]) -> str:
        return os.environ.get(found[1], "") if found[1] in hook.allowed_variables else ""

    headers = [("content-type", "application/json"), *((name, _VARIABLE.sub(value, one)) for name, one in hook.headers)]
    transport = LiveTransport()
    body = bytearray()
    try:
        async with transport.send(HttpRequest("POST", hook.url, tuple(headers), text.encode(), once=True)) as response:
            async for chunk in response.chunks():
                body += chunk
                if len(body) > MAX_OUTPUT:
                    return failed(hook, f"answered more than {MAX_OUTPUT // 1024} KiB")
            if not 200 <= response.status < 300:
                return failed(hook, f"answered with status {response.status}")
    except (NetworkError, ValueError) as error:
        return failed(hook, f"was not answered: {error}")
    finally:
        await transport.close()
    return answer_of(hook, body.decode("utf-8", "replace"))


async def _tool(hook: HookDefinition, text: str, context: ConversationContext) -> HookOutcome:
    if not hook.may_call:
        owner = "plugin" if hook.plugin else "project"
        return failed(hook, f"was not run: it may call only servers of its {owner}, and {hook.server} is none")
    from kaa.builtin.mcp.names import tool_prefix  # lazy: few hooks ask tools
    from kaa.builtin.mcp.results import unframed

    given = msgspec.json.decode(text)

    def value(found: re.Match[str]) -> str:
        part: Any = given
        for name in found[1].split("."):
            part = part.get(name, "") if isinstance(part, dict) else ""
        inner = part if isinstance(part, str) else msgspec.json.encode(part).decode()
        return msgspec.json.encode(inner).decode()[1:-1]  # within a text of JSON

    arguments = msgspec.json.decode(re.sub(r"\$\{([\w.]+)\}", value, hook.input))
    name = f"{tool_prefix(hook.server)}{hook.tool}"
    if name not in context.active_tools and name not in context.deferred_tools:  # its server has not been started yet
        arguments = {"action": "call", "server": hook.server, "tool": hook.tool, "arguments": arguments}
        name = "mcp"
    try:
        result = await context.call_tool(name, arguments)
    except (RegistrationError, ToolError, ValueError) as error:
        return failed(hook, f"was not run: {error}")
    framed = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
    said = unframed(framed)
    answer = framed if said is None else said.text
    return failed(hook, f"failed: {answer[:200]}") if result.is_error else answer_of(hook, answer)


async def _prompt(hook: HookDefinition, text: str, context: ConversationContext, models: Sequence[str]) -> HookOutcome:
    try:
        answer = await _completed(_filled(hook, text), models, context)
    except (CommandError, ToolError) as error:
        return failed(hook, f"did not judge ({_sentence(error)})")
    return HookOutcome() if answer.ok else HookOutcome("deny", answer.reason or "a prompt of a hook says no")


async def _completed(prompt: str, models: Sequence[str], context: ConversationContext) -> _Answer:
    """The answer of the first of some models that there is, or else of that in force.

    Raises:
        CompletionError: none answered.
    """
    for model in models:
        with suppress(CompletionError):
            return await context.complete(prompt, system=_JUDGE, model=model, max_tokens=1024, schema=_Answer)
    return await context.complete(prompt, system=_JUDGE, max_tokens=1024, schema=_Answer)


async def _agent(hook: HookDefinition, text: str, context: ConversationContext, models: Sequence[str]) -> HookOutcome:
    """Ask an agent that looks into the project, and changes nothing."""
    try:
        result = await context.run_agent(
            f"{_filled(hook, text)}\n\n{_VERDICT}",
            name="hook",
            system_prompt=_JUDGE,
            model=list(models),
            tools=("read", "bash"),
            budget=Budget(turns=_MOST_TURNS),
            asks=False,
        )
        begin = result.text.rindex("{")
        answer = msgspec.json.decode(result.text[begin : result.text.rindex("}") + 1], type=_Answer)
    except (CommandError, ToolError) as error:
        return failed(hook, f"did not judge ({_sentence(error)})")
    except (ValueError, msgspec.MsgspecError):
        return failed(hook, "did not judge: the agent gave no verdict as JSON")
    return HookOutcome() if answer.ok else HookOutcome("deny", answer.reason or "an agent of a hook says no")


def _sentence(error: Exception) -> str:
    """What an error says, on one line, for parentheses."""
    return " ".join(str(error).split()).rstrip(".")


def _filled(hook: HookDefinition, text: str) -> str:
    return hook.prompt.replace("$ARGUMENTS", text) if "$ARGUMENTS" in hook.prompt else f"{hook.prompt}\n\n{text}"


_VERDICT = 'End your last message with a line of JSON: {"ok": true} or {"ok": false, "reason": "…"}.'
_MOST_TURNS = 50  # as in Claude Code
_JUDGE = (
    "You decide for a hook of a coding agent. Answer `ok`: true to let it continue, false to stop it, with a reason."
)
