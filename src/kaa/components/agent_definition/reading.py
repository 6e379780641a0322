"""Reads definitions of agents in the formats of eight agents: Markdown with fields, TOML of Codex, JSON of opencode."""

import posixpath
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from kaa.components.agent_definition import AgentDefinition, AgentModel
from kaa.components.agent_definition.fields import FIELDS, LIMITS, UNUSED, WITHOUT_EFFECT
from kaa.components.agent_definition.models import model_choice, thinking_level
from kaa.components.agent_definition.permissions import permission_in
from kaa.components.agent_definition.tools import MOST_NAMES, Tools, listed_tools, opencode_tools, shown
from kaa.components.frontmatter import MarkdownFile, ReadFields, document_in, fields_in, is_true, names_of, text_of
from kaa.components.skill import Unusable
from kaa.components.tool_names import ToolDialect
from kaa.core.messages import Json
from kaa.core.provider import ThinkingLevel
from kaa.core.terminal_text import plain_text

MAX_BYTES: Final = 256 * 1024
"""Of a file."""

_MAX_NAME = 64
_MAX_DESCRIPTION = 4096  # those of Claude Code have examples in them
_MAX_DEPTH = 10
_MOST_NOTES = 50
_MOST_AGENTS = 200  # in a file of opencode
_MOST_TURNS = 10_000
_CALLABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NAMED_BY_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.-]*")
_FENCES = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_REFERENCE = re.compile(r"\{(?:file|env):[^}]*\}")

_Fields = Mapping[str, object]


def agent_in(name: str, data: bytes, dialect: ToolDialect, read: ReadFields = fields_in) -> AgentDefinition | Unusable:
    """The agent that a file defines.

    Args:
        name: its path below the folder of definitions, with `/`, without the suffix.
        dialect: whose it is. Codex's are TOML, all others Markdown.
    """
    if len(data) > MAX_BYTES:
        return Unusable(f"it has more than {MAX_BYTES // 1024} KiB")
    text = data.decode("utf-8", "replace").replace("\0", "")
    document = _toml(text) if dialect == "codex" else _markdown(text, dialect, read)
    if isinstance(document, Unusable):
        return document
    called = name.replace("/", ":") if dialect == "opencode" else posixpath.basename(name)
    return _agent(called, document, dialect)


def opencode_agents(value: Json) -> dict[str, AgentDefinition | Unusable]:
    """The agents in the setting `agent` of an opencode.json, by name."""
    found: dict[str, AgentDefinition | Unusable] = {}
    for name, settings in list(value.items())[:_MOST_AGENTS] if isinstance(value, dict) else ():
        fields = _plain(settings, 0)
        is_object = isinstance(fields, dict) and bool(fields)
        document = MarkdownFile(fields if isinstance(fields, dict) else {}, "")
        found[shown(name)] = (
            _agent(name, document, "opencode") if is_object else Unusable("it is no object with fields")
        )
    return found


def _agent(name: str, document: MarkdownFile, dialect: ToolDialect) -> AgentDefinition | Unusable:
    names = FIELDS[dialect]
    fields = {names[field]: value for field, value in document.fields.items() if field in names}
    called_there = {names[field]: field for field in document.fields if field in names}
    notes = _Notes(document, dialect)
    called = text_of(fields.get("name"))
    if called and not _is_callable(called, _CALLABLE):
        notes.add(f"its name {shown(called)!r} cannot be called: {shown(name)!r} is used instead")
    called = called if _is_callable(called, _CALLABLE) else name
    prompt = document.body or _text(fields.get("prompt"))
    tools = _tools(fields, dialect)
    if isinstance(tools, Unusable):
        return tools
    if twice := [field for field in document.fields if field in names and called_there[names[field]] != field]:
        return Unusable(f"`{twice[0]}` and `{called_there[names[twice[0]]]}` mean the same: remove one")
    if (reason := _refusal(called, prompt, fields, dialect)) is not None:
        return Unusable(reason)
    if not tools.has_any:
        unknown = f": kaa does not have {', '.join(tools.unknown[:10])}" if tools.unknown else ""
        return Unusable(f"none of its tools exists{unknown}")
    notes.add(*(f"the tool `{unknown}` is unknown" for unknown in tools.unknown))
    permission, remarks = permission_in(fields, called_there, asks=tools.asks)
    notes.add(*remarks)
    description = _line(fields.get("description"))
    if not description:
        notes.add("`description` is missing: the beginning of its prompt is shown")
    model = fields.get("model")
    servers, definitions = _servers(fields)
    return AgentDefinition(
        called,
        description[:_MAX_DESCRIPTION] or _line(prompt)[:_MAX_NAME],
        prompt,
        dialect,
        tools=tools.tools,
        excluded_tools=tools.excluded,
        only=tools.only,
        denied=tools.denied,
        agents=tools.agents,
        model=model_choice(model) if isinstance(model, str) else AgentModel(),
        thinking=_thinking(fields, called_there, notes),
        permission=permission,
        background=is_true(fields.get("background")),
        worktree=_worktree(fields, notes),
        max_turns=_max_turns(fields, called_there, notes),
        skills=tuple(shown(skill) for skill in names_of(fields.get("skills"))[:MOST_NAMES]),
        mcp_servers=servers,
        servers=definitions,
        hooks=_hooks(fields.get("hooks")),
        notes=notes.all(),
    )


def _hooks(value: object) -> str:
    if not value:
        return ""
    from kaa.components.hooks.reading import hooks_text  # lazy: few definitions have hooks

    return hooks_text(value)


class _Notes:
    """Collects notes on a definition, so many as people read."""

    def __init__(self, document: MarkdownFile, dialect: ToolDialect) -> None:
        self._notes: dict[str, None] = {}
        if document.problem:
            self.add(document.problem)
        for field in document.fields:
            if field in FIELDS[dialect] or field in WITHOUT_EFFECT:
                continue
            self.add(f"`{field}` is not used: {UNUSED[field]}" if field in UNUSED else f"`{shown(field)}` is unknown")

    def add(self, *notes: str) -> None:
        """Add notes, each once."""
        self._notes.update(dict.fromkeys(notes))

    def all(self) -> tuple[str, ...]:
        kept = list(self._notes)[:_MOST_NOTES]
        left = len(self._notes) - len(kept)
        return (*kept, f"{left} more remarks are left out") if left else tuple(kept)


def _refusal(called: str, prompt: str, fields: _Fields, dialect: ToolDialect) -> str | None:
    """Why there is no such agent; None if there is."""
    if not _is_callable(called, _NAMED_BY_PATH):
        return f"its name {shown(called)!r} cannot be called: use up to {_MAX_NAME} letters, digits, _, . and -"
    if is_true(fields.get("disabled")):
        return "it is disabled"
    if (kind := fields.get("kind", "")) not in ("", "local"):
        return f"it is no agent of this machine: its `kind` is {shown(str(kind))!r}"
    if not prompt.strip():
        return "it has no prompt"
    if dialect == "opencode" and _REFERENCE.search(_text(fields.get("prompt"))):
        return "its prompt is in another file, which kaa does not read: put it into this one"
    return None


def _tools(fields: _Fields, dialect: ToolDialect) -> Tools | Unusable:
    tools = fields.get("tools")
    if dialect == "opencode":
        if isinstance(tools, list) or text_of(tools):
            tools = {"*": "false", **dict.fromkeys(names_of(tools), "true")}
        return opencode_tools(tools, fields.get("rules"))
    if isinstance(tools, dict):  # opencode's form in files of others
        tools = [tool for tool, wanted in tools.items() if is_true(wanted)]
    allowed = None if tools is None or tools == "" else names_of(tools)
    excluded = fields.get("excluded", "")
    if isinstance(excluded, dict) or (isinstance(excluded, list) and not all(isinstance(one, str) for one in excluded)):
        return Unusable("the tools that it shall not have are no list of names")
    if len(names_of(excluded)) > MOST_NAMES or len(allowed or ()) > MOST_NAMES:
        return Unusable(f"it names more than {MOST_NAMES} tools")
    return listed_tools(allowed, names_of(excluded), dialect)


def _thinking(fields: _Fields, names: Mapping[str, str], notes: _Notes) -> ThinkingLevel | None:
    word = text_of(fields.get("thinking"))
    level = thinking_level(word)
    if word and level is None:
        notes.add(f"`{names['thinking']}: {shown(word)}` is unknown: the thinking level of the conversation holds")
    return level


def _worktree(fields: _Fields, notes: _Notes) -> bool:
    word = text_of(fields.get("isolation"))
    if word not in ("", "worktree", "none"):
        notes.add(f"`isolation: {shown(word)}` is unknown: it works in its own worktree")
    return word not in ("", "none")


def _max_turns(fields: _Fields, names: Mapping[str, str], notes: _Notes) -> int | None:
    if "max turns" not in fields:
        return None
    word = text_of(fields["max turns"])
    if word.isascii() and word.isdigit() and len(word) < 6 and 0 < int(word) <= _MOST_TURNS:
        return int(word)
    notes.add(f"`{names['max turns']}: {shown(word)}` is no number from 1 to {_MOST_TURNS}: it is not used")
    return None


def _servers(fields: _Fields) -> tuple[tuple[str, ...], str]:
    """The names of the servers that it wants, and the entries of those that it defines, as JSON."""
    value = fields.get("servers")
    names: list[str] = []
    defined: dict[str, object] = {}
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            defined |= {str(name): entry for name, entry in one.items() if isinstance(entry, dict)}
            names += map(str, one)
        else:
            names += names_of(one)
    kept = dict.fromkeys(shown(name) for name in names[:MOST_NAMES])
    return tuple(kept), msgspec.json.encode(defined).decode() if defined else ""


def _markdown(text: str, dialect: ToolDialect, read: ReadFields) -> MarkdownFile | Unusable:
    document = document_in(text, read)
    if not document.fields:
        return Unusable(document.problem or "it has no fields such as `name` and `description` at its beginning")
    if not document.problem:
        return document
    # What was read line by line may lack a part of a list of tools: without it, the agent could do more.
    head = _FENCES.split(text.removeprefix("\ufeff").replace("\r\n", "\n"), maxsplit=2)[1]
    fields = dict(document.fields)
    for field in (field for field, name in FIELDS[dialect].items() if name in LIMITS):
        lines = re.search(rf"^{field}[ \t]*:.*(?:\n(?:[ \t].*|-[ \t].*|(?=\n)))*", head, re.MULTILINE)
        if lines is None:
            continue
        found = read(lines[0])
        if not found.problem and field in found.values:
            fields[field] = found.values[field]
        elif field not in fields or "\n" in lines[0].strip():
            return Unusable(f"its field `{field}` cannot be read, because {document.problem}")
    return MarkdownFile(fields, document.body, document.problem)


def _toml(text: str) -> MarkdownFile | Unusable:
    import tomllib  # lazy: 5 ms, only for definitions of Codex

    try:
        fields = _plain(tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n")), 0)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Unusable(f"it is not valid TOML ({' '.join(str(error).split())})")
    return MarkdownFile(fields if isinstance(fields, dict) else {}, "")


def _plain(value: object, depth: int) -> object:
    """Values of JSON and TOML as those of YAML are read: all scalars are texts."""
    if depth > _MAX_DEPTH:
        return ""
    if isinstance(value, dict):
        return {str(name): _plain(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, depth + 1) for one in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _is_callable(name: str, form: re.Pattern[str]) -> bool:
    return len(name) <= _MAX_NAME and form.fullmatch(name) is not None


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _line(value: object) -> str:
    return " ".join(plain_text(value).split()) if isinstance(value, str) else ""
