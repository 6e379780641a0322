"""Files with prompt templates and custom commands: what they say about themselves.

Sources: pi 1.5.2, opencode 1.18.33 and Gemini CLI 0.61 as they behave; documentation of Claude Code (skills, 2026-08,
which holds for commands) and of Codex (prompts).
"""

import re
from typing import Any

import msgspec

from kaa.components.frontmatter import (
    MarkdownFile,
    ReadFields,
    document_in,
    fields_in,
    hint_of,
    is_true,
    names_of,
    text_of,
)
from kaa.components.skill import Unusable, unknown_effort
from kaa.components.templates import Dialect
from kaa.components.templates.embedded import has_unclosed_braces
from kaa.core.terminal_text import plain_text

MAX_BYTES = 256 * 1024

_MAX_NAME = 100
_MAX_LINE = 200
_MAX_FIRST_LINE = 60  # as pi
_MAX_NAMES = 100
_CALLABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.-]*")
_NOT_IN_NAMES_OF_GEMINI = re.compile(r"[^A-Za-z0-9_.:-]")

# The fields that `CommandFile` has, or that say what holds for each command of kaa.
_USED: dict[Dialect, frozenset[str]] = {
    "pi": frozenset({"description", "argument-hint"}),
    "claude": frozenset(
        {
            *("name", "description", "argument-hint", "arguments", "model", "effort", "agent", "context"),
            "allowed-tools",
            "disable-model-invocation",
        }
    ),
    "opencode": frozenset({"description", "model", "variant", "agent", "subtask"}),
    "gemini": frozenset({"description", "prompt"}),
    "codex": frozenset({"description", "argument-hint"}),
    "cursor": frozenset({"description"}),
}
_UNUSED: dict[str, str] = {
    "disallowed-tools": "it has all tools",
    "hooks": "its hooks do not run",
    "background": "it does not run in the background",
    "shell": "its commands run in bash",
    "paths": "it can be called at any time",
    "user-invocable": "you can call it",
    "when_to_use": "only you call it",
    "hide-from-slash-command-tool": "only you call it",
}


class CommandFile(msgspec.Struct, frozen=True):
    """A command of a person that stands for a prompt.

    Attributes:
        name: how it is called, with `:` between folders.
        description: what it is for; one short line.
        body: the template; `expansion.expand` puts arguments into it.
        argument_hint: what can be given along, for people.
        argument_names: names of the arguments, in order.
        model: which model is to answer, as the file names it; empty: that of the conversation.
        effort: how hard it is to think, likewise.
        agent: the definition of the agent that is to answer; empty: none.
        subtask: an agent of its own is to answer.
        allowed_tools: tools that the file wants to have approved, with their patterns.
        notes: what kaa does not use or understand, in sentences without their ends.
    """

    name: str
    description: str
    body: str
    dialect: Dialect
    argument_hint: str = ""
    argument_names: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    agent: str = ""
    subtask: bool = False
    allowed_tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def command_file(name: str, data: bytes, dialect: Dialect, read: ReadFields = fields_in) -> CommandFile | Unusable:
    """The command that a file describes.

    Args:
        name: its path below the folder of commands, with `/`, without the suffix.
        dialect: whose it is. Gemini CLI's are TOML, all others Markdown.
    """
    called = name.replace("/", ":")
    if dialect == "gemini":
        called = _NOT_IN_NAMES_OF_GEMINI.sub("_", called)
    if not _CALLABLE.fullmatch(called) or len(called) > _MAX_NAME:
        return Unusable(f"its name {called[:_MAX_NAME]!r} cannot be called: use letters, digits, _, . and -")
    if len(data) > MAX_BYTES:
        return Unusable(f"it has more than {MAX_BYTES // 1024} KiB")
    text = data.decode("utf-8", "replace").replace("\0", "")
    document = _toml(text) if dialect == "gemini" else document_in(text, read)
    if isinstance(document, Unusable):
        return document
    if not document.body.strip():
        return Unusable("it has no text")
    fields = document.fields
    return CommandFile(
        called,
        _cut(_shown(text_of(fields.get("description"))), _MAX_LINE) or _first_line(document.body),
        document.body,
        dialect,
        notes=tuple(_notes(document, dialect)),
        **_properties({field: value for field, value in fields.items() if field in _USED[dialect]}, dialect),
    )


def _properties(fields: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The attributes whose fields a dialect has."""
    agent, model, variant = text_of(fields.get("agent")), text_of(fields.get("model")), ""
    if dialect == "opencode":
        model, _, variant = model.partition("#")
    if dialect == "claude":
        forks = text_of(fields.get("context")) == "fork"
    else:  # opencode has agents for such tasks answer by themselves
        forks = bool(agent) if "subtask" not in fields else is_true(fields["subtask"])
    return {
        "argument_hint": _cut(_shown(hint_of(fields.get("argument-hint"))), _MAX_LINE),
        "argument_names": names_of(fields.get("arguments"))[:_MAX_NAMES],
        "model": model,
        "effort": text_of(fields.get("effort") or fields.get("variant")) or variant,
        "agent": agent,
        "subtask": forks,
        "allowed_tools": names_of(fields.get("allowed-tools")),
    }


def _notes(document: MarkdownFile, dialect: Dialect) -> list[str]:
    unused = [field for field in document.fields if field not in _USED[dialect]]
    notes = [document.problem] if document.problem else []
    notes += [f"`{field}` is not used: {_UNUSED[field]}" for field in unused if field in _UNUSED]
    notes += [f"`{_shown(field)}` is unknown" for field in unused if field not in _UNUSED]
    notes += map(_shown, unknown_effort(document.fields) if "effort" in _USED[dialect] else [])
    if dialect == "gemini" and has_unclosed_braces(document.body):
        notes.append("a command or reference in it has no closing brace: from there on all is text")
    return notes


def _toml(text: str) -> MarkdownFile | Unusable:
    import tomllib  # lazy: 5 ms, only for commands of Gemini CLI

    try:
        fields = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Unusable(f"it is not valid TOML ({' '.join(str(error).split())})")
    prompt = fields.get("prompt")
    if not isinstance(prompt, str):
        return Unusable("it has no `prompt`")
    return MarkdownFile(fields, prompt.strip())


def _first_line(body: str) -> str:
    return _cut(_shown(next(line for line in body.splitlines() if line.strip())), _MAX_FIRST_LINE)


def _shown(text: str) -> str:
    return " ".join(plain_text(text).split())


def _cut(text: str, most: int) -> str:
    return f"{text[:most]}..." if len(text) > most else text
