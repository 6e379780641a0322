"""Hooks of Claude Code, Codex and Gemini CLI: definitions, which calls they match, and what their output means.

Sources: the documentation of hooks of each agent in November 2026. Events have Claude's names here.
"""

import shlex
from typing import Final, Literal, TypeAlias

import msgspec

HookDialect: TypeAlias = Literal["claude", "codex", "gemini"]
"""Whose names, inputs and units a hook has. kaa's own hooks.json is written as Claude's."""

Handler: TypeAlias = Literal["command", "http", "mcp_tool", "prompt", "agent"]

HookEvent: TypeAlias = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Notification",
]
"""The events that kaa has, under Claude's names."""

_JUDGED: frozenset[HookEvent] = frozenset({"PreToolUse", "UserPromptSubmit"})
TOOL_EVENTS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure")


class HookDefinition(msgspec.Struct, frozen=True):
    """A handler of an event.

    Attributes:
        named_event: what the dialect calls the event.
        source: the file that defines it.
        of_project: whether the project, or a plugin, brought that file; otherwise it is the user's.
        matcher: which calls, sources or triggers it is for; see `kaa.components.hooks.matching`.
        condition: `if` of Claude: a rule such as `Bash(git *)`.
        timeout: seconds; None takes the default of the event.
        name: for people; may be empty.
        command: for a shell, or with `args` a program.
        args: its arguments; None for a shell command.
        shell: the shell, if another one than sh is wanted.
        blocks_on_failure: a failure counts as a refusal (`onFailure: "block"`; without it, that of a judge).
        once: it runs once in a session.
        waits: kaa waits for its end (not `async`).
        sandboxed: whether the user wants it in the sandbox; None leaves it to kaa.
        url: of an `http` handler.
        headers: likewise; values may have `$VARIABLE`.
        allowed_variables: which variables these may name.
        server: of an `mcp_tool` handler.
        may_call: likewise: whether it may call that server. A plugin's hook may call its plugin's only, and a
            project's those of the project.
        tool: likewise.
        input: likewise, its arguments.
        prompt: of a `prompt` handler.
        model: likewise; empty for the model in force.
        variables: added to the environment of a command.
        plugin: the name of the plugin that it is from; empty for others.
        has_secrets: whether `variables` or `args` have secrets that the user gave to the plugin.
        data: the folder of what that plugin keeps, if the command may write it; empty if not.
        scope: `skill NAME`: it runs from the first use of that skill on; `agent NAME`: while that agent works; empty:
            always.
        may_be_of_commands: whether commands of the model could have written that file, which is the user's, unapproved.
        notes: what kaa does not use of it, in sentences.
    """

    event: HookEvent
    named_event: str
    dialect: HookDialect
    handler: Handler
    source: str
    of_project: bool
    matcher: str = ""
    condition: str = ""
    timeout: float | None = None
    name: str = ""
    command: str = ""
    args: tuple[str, ...] | None = None
    shell: str = ""
    blocks_on_failure: bool = False
    once: bool = False
    waits: bool = True
    sandboxed: bool | None = None
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    allowed_variables: tuple[str, ...] = ()
    server: str = ""
    may_call: bool = True
    tool: str = ""
    input: str = "{}"
    prompt: str = ""
    model: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    plugin: str = ""
    has_secrets: bool = False
    data: str = ""
    scope: str = ""
    may_be_of_commands: bool = False
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it runs, in one line for people."""
        if self.handler == "command":  # blanks in it mean something
            command = self.command if self.args is None else shlex.join((self.command, *self.args))
            return "↵".join(command.strip().splitlines())
        what = {
            "http": f"calls {self.url}",
            "mcp_tool": f"calls the tool {self.tool} of MCP server {self.server} with {self.input}",
            "prompt": f"asks the model: {self.prompt}",
            "agent": f"asks an agent: {self.prompt}",
        }[self.handler]
        return " ".join(what.split())


def is_judge(kind: Handler, event: HookEvent) -> bool:
    """Whether a hook only judges what is about to happen: it asks a model, and for nothing else.

    Where the model cannot answer, what it guards does not pass. Other kinds may do no more than log, and the agents
    that they are written for let calls pass when such a hook fails.
    """
    return kind in ("prompt", "agent") and event in _JUDGED


class HookFile(msgspec.Struct, frozen=True):
    """The hooks of a file. `notes`: what kaa does not use of it, in sentences."""

    hooks: tuple[HookDefinition, ...] = ()
    notes: tuple[str, ...] = ()
