"""Names of tools in the files of other agents, and what they are called in kaa; and patterns such as `Bash(git *)`.

One table for all that reads such names: agent definitions (`own_patterns`) and hooks, which also need the way back
(`foreign_names`). Inputs and results of the tools are no matter of this module.

Sources, November 2026: the tool references of Claude Code and Gemini CLI, the permissions of opencode, Codex 0.169 and
pi 1.5.2 as they behave. Cursor's names are those in matchers of published hooks; Droid's are those in published custom
droids. Neither was checked against the agent itself.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

ToolDialect: TypeAlias = Literal["kaa", "claude", "codex", "cursor", "droid", "gemini", "opencode", "pi"]
"""Whose words names of tools are."""

OWN_TOOLS: Final = frozenset(
    {"agent", "bash", "edit", "find", "grep", "ls", "process", "read", "skill", "web_fetch", "write"}
)
"""kaa's tools that others have too. `agent` comes with sub-agents."""

MAX_CHARACTERS: Final = 200
"""Of a name with its pattern."""

_whole: dict[str, str] = {}  # names that a hash would have made too long, by what is left of them with it
_TOLD_APART = re.compile(r"(mcp__.+)_(?:[0-9a-f]{24}|[0-9a-f]{12}|[0-9a-f]{6})")

_Names: TypeAlias = Mapping[str, tuple[str, ...]]

# The names of others, by kaa's; the first is the one that a dialect uses today. A name may stand for several tools.
_PI: Final[_Names] = {
    "bash": ("bash",),
    "read": ("read",),
    "write": ("write",),
    "edit": ("edit",),
    "find": ("find",),
    "grep": ("grep",),
    "ls": ("ls",),
}
_FOREIGN: Final[Mapping[ToolDialect, _Names]] = {
    "kaa": {name: (name,) for name in sorted(OWN_TOOLS)},
    "claude": {
        "bash": ("Bash",),
        "process": ("BashOutput", "TaskOutput", "KillShell", "KillBash", "TaskStop"),
        "read": ("Read", "NotebookRead"),
        "write": ("Write",),
        "edit": ("Edit", "MultiEdit"),
        "find": ("Glob",),
        "grep": ("Grep",),
        "ls": ("LS",),
        "web_fetch": ("WebFetch",),
        "skill": ("Skill",),
        "agent": ("Agent", "Task"),
    },
    "codex": {
        "bash": ("Bash", "shell", "shell_command", "exec_command", "local_shell"),
        "process": ("write_stdin",),
        "read": ("view_image",),
        "write": ("apply_patch", "Write"),
        "edit": ("apply_patch", "Edit"),
        "agent": ("spawn_agent",),
    },
    "cursor": {
        "bash": ("Shell",),
        "read": ("Read",),
        "write": ("Write",),
        "edit": ("Write", "StrReplace"),
        "find": ("Glob",),
        "grep": ("Grep",),
        "ls": ("LS",),
        "web_fetch": ("WebFetch",),
        "agent": ("Task",),
    },
    "droid": {  # also categories, in lower case
        "bash": ("Execute", "execute"),
        "read": ("Read", "read-only"),
        "write": ("Create", "ApplyPatch", "edit"),
        "edit": ("Edit", "MultiEdit", "ApplyPatch", "edit"),
        "find": ("Glob", "read-only"),
        "grep": ("Grep", "read-only"),
        "ls": ("LS", "read-only"),
        "web_fetch": ("FetchUrl", "web"),
        "skill": ("Skill",),
        "agent": ("Task",),
    },
    "gemini": {
        "bash": ("run_shell_command",),
        "read": ("read_file", "read_many_files"),
        "write": ("write_file",),
        "edit": ("replace",),
        "find": ("glob",),
        "grep": ("search_file_content", "grep_search"),
        "ls": ("list_directory",),
        "web_fetch": ("web_fetch",),
        "skill": ("activate_skill",),
    },
    "opencode": {  # its permission `edit` is for all changes of files
        "bash": ("bash",),
        "read": ("read",),
        "write": ("write", "patch", "apply_patch", "edit"),
        "edit": ("edit", "multiedit", "patch", "apply_patch"),
        "find": ("glob",),
        "grep": ("grep",),
        "ls": ("list",),
        "web_fetch": ("webfetch",),
        "skill": ("skill",),
        "agent": ("task",),
    },
    "pi": _PI,
}
# `functions.bash:0` and the like: the namespace of some templates, and the number of the call.
_DECORATION = re.compile(r"\A(?:functions?|tools?|default_api)[.:/]|[:#]\d+\Z")
_PATTERN = re.compile(r"([A-Za-z_*][A-Za-z0-9_.*-]*)(?:\((.*)\))?", re.DOTALL)
# Gemini CLI and opencode put one `_` between a server and its tool, Gemini CLI with `mcp_` before it.
_OF_SERVER: Final[Mapping[ToolDialect, re.Pattern[str]]] = {
    "gemini": re.compile(r"mcp_(?!_)([A-Za-z0-9-]+|\*)(?:_(.+))?"),
    "opencode": re.compile(r"([A-Za-z0-9-]+)_(.+)"),
}


class ToolPattern(msgspec.Struct, frozen=True):
    """Calls of a tool.

    Attributes:
        tool: kaa's name, `mcp__SERVER__TOOL`, or such a name with `*` for several tools; `*`: all tools.
        argument: which calls, as the file has it: `git *`, or names of agents; empty: all calls.
    """

    tool: str
    argument: str = ""


def own_patterns(text: str, dialect: ToolDialect) -> tuple[ToolPattern, ...]:
    """What a name with or without a pattern means in kaa; empty if kaa has no such tool, or the text is no name.

    Names that differ in upper and lower case only are the same, and Claude's and kaa's names are understood in the
    files of all agents, because people copy them from each other.

    Args:
        text: such as `Bash(git *)`, `mcp__server__tool` or `read_file`.
    """
    found = _PATTERN.fullmatch(text.strip()) if len(text) <= MAX_CHARACTERS else None
    if found is None:
        return ()
    name, argument = found[1], (found[2] or "").strip()
    if name == "*" or name.startswith("mcp__"):
        return (ToolPattern(_whole_server(name), argument),)
    for words in (dialect, "claude", "kaa"):
        if own := _OWN[words].get(name.lower()):
            return tuple(ToolPattern(tool, argument) for tool in own)
    return tuple(ToolPattern(tool, argument) for tool in _of_server(name, dialect))


def meant_tool(name: str, tools: Collection[str]) -> str:
    """Return the tool that a model means by a name which no tool has; the name if it means none, or several.

    Args:
        name: one that it learned with another agent, or with what its server left of its notation.
        tools: those that it has.
    """
    plain = _DECORATION.sub("", name.partition("<|")[0]).strip().lower()
    if plain in tools:
        return plain
    found = {tool for words in (*_OWN.values(), _SEEN) for tool in words.get(plain, ()) if tool in tools}
    return found.pop() if len(found) == 1 else name


def rule_names(tool: str) -> tuple[str, ...]:
    """The names of a tool for rules that forbid or watch it: its own, and for a server's tool that without a hash.

    A hash tells it from another tool of the same name (`kaa.builtin.mcp.names`). A server can list one at any time, and
    would otherwise take its tools out of the rules of the user.
    """
    found = _TOLD_APART.fullmatch(tool)
    return (tool,) if found is None else (tool, _whole.get(tool, found[1]))


def note_whole_name(tool: str, whole: str) -> None:
    """Note the name of a server's tool without a hash, where it had to be cut for that."""
    _whole[tool] = whole


def foreign_names(tool: str, dialect: ToolDialect) -> tuple[str, ...]:
    """What a tool of kaa's is called by others, today's name first; its own name if they have no such tool.

    Args:
        tool: kaa's name, or that of a server's tool.
    """
    return _FOREIGN[dialect].get(tool, (tool,))


def _whole_server(name: str) -> str:
    """`mcp__server` means all tools of the server."""
    return name if name.count("__") > 1 or name.endswith("*") else f"{name}__*"


def _of_server(name: str, dialect: ToolDialect) -> tuple[str, ...]:
    if dialect == "gemini" and name == "mcp_*":
        return ("mcp__*",)
    found = _OF_SERVER[dialect].fullmatch(name) if dialect in _OF_SERVER else None
    return () if found is None else (f"mcp__{found[1]}__{found[2] or '*'}",)


def _by_foreign_name(names: _Names) -> dict[str, tuple[str, ...]]:
    own: dict[str, tuple[str, ...]] = {}
    for tool, words in names.items():
        for word in words:
            own[word.lower()] = tuple(dict.fromkeys((*own.get(word.lower(), ()), tool)))
    return own


# Names in calls of models, of agents whose files kaa does not read.
_SEEN: Final = _by_foreign_name(
    {
        "bash": ("execute_command", "execute_bash", "run_command", "run_terminal_cmd", "run_in_terminal", "terminal"),
        "read": ("view_file", "open_file"),
        "write": ("create_file", "write_to_file"),
        "edit": ("edit_file", "str_replace", "search_replace", "replace_in_file"),
        "grep": ("search_files",),
        "ls": ("list_files", "list_dir"),
    }
)
_OWN: Final = {dialect: _by_foreign_name(names) for dialect, names in _FOREIGN.items()}
