"""Makes skills, commands and agents of files that were found: each name once, and of every file why it is not used."""

import fnmatch
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

from kaa.components.frontmatter import ReadFields, document_in
from kaa.components.skill import Skill, SkillFile, Unusable, skill_in
from kaa.shell.components import Agent, FoundFile, Kind
from kaa.shell.trust.instructions import text_in
from kaa.tui.invisible import replace_invisible

if TYPE_CHECKING:
    from kaa.components.agent_definition import AgentDefinition
    from kaa.components.allowed_tools import Grants
    from kaa.components.templates import Dialect
    from kaa.components.templates.command_file import CommandFile
    from kaa.components.tool_names import ToolDialect

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Whose skills have placeholders and commands as Claude Code has them.
_CLAUDE = ("claude",)
_DIALECTS: "Final[dict[Agent, Dialect]]" = {
    "kaa": "pi",
    "pi": "pi",
    "claude": "claude",
    "codex": "codex",
    "cursor": "cursor",
    "gemini": "gemini",
    "opencode": "opencode",
}
# `agents` has skills only.
DIALECTS_OF_AGENTS: "Final[dict[Agent, ToolDialect]]" = {
    "kaa": "kaa",
    "claude": "claude",
    "codex": "codex",
    "cursor": "cursor",
    "droid": "droid",
    "gemini": "gemini",
    "opencode": "opencode",
    "pi": "pi",
}
_LOOKED_AT_BYTES = 8192
_MOST_BROKEN = 0.1  # of the bytes looked at; in an old encoding, fewer of a text are not UTF-8
# JSON of what runs, and not what the model reads.
_NOT_SHOWN = ("hooks", "servers")

State: TypeAlias = Literal["used", "not wanted", "unusable"]
"""`not wanted`: not trusted, not asked for, or left out by the user. `unusable`: something is wrong with it."""


class Candidate(NamedTuple):
    """A file that may be used.

    Attributes:
        is_of_project: whether the project brought it; otherwise it is the user's.
        obstacle: why the user does not want it, as the rest of a sentence; empty if there is no such reason.
        plugin: the name of the user's plugin that has it, which is put before its own; empty for others.
        may_be_of_commands: it is the user's, but commands could write it, and the user has not approved what it does.
    """

    file: FoundFile
    is_of_project: bool
    obstacle: str = ""
    plugin: str = ""
    may_be_of_commands: bool = False


class FoundComponent(NamedTuple):
    """What a file is.

    Attributes:
        definition: what it defines; None if it defines nothing.
        reason: why it is not, as the rest of a sentence.
        lines: of a file of hooks or language servers, what they run, and what kaa does not use of it.
    """

    candidate: Candidate
    name: str
    definition: "Skill | CommandFile | AgentDefinition | None"
    state: State = "used"
    reason: str = ""
    lines: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What kaa does not use of it, in sentences."""
        if (agent := self.agent) is not None:
            notes = agent.notes
            if agent.servers and (self.candidate.is_of_project or self.candidate.plugin):
                notes = (*notes, "the MCP servers that it defines are not used: only your own files can define servers")
            elif agent.servers:
                notes = (*notes, "the MCP servers that it defines need your approval: `/mcp` shows them")
            if not agent.only and not agent.denied:
                return notes
            from kaa.components.allowed_tools import limits_in  # lazy, as below

            unlimited = limits_in(agent.only, agent.denied).unlimited
            without = [f"the tool `{tool}` is left out: kaa cannot hold the agent to these calls" for tool in unlimited]
            return (*notes, *without)
        definition = self.command
        granted = self.grants.notes if self.grants else ()
        if definition is None:
            return self.lines if self.definition is None else (*self.definition.notes, *granted)
        unused = (
            (definition.agent and not definition.subtask, "`agent` is not used: no separate agent answers"),
            (definition.subtask and definition.model, "`model` is not used: the agent that answers has its own"),
            (definition.subtask and definition.effort, "`effort` is not used: the agent that answers has its own"),
        )
        return (*definition.notes, *(note for given, note in unused if given), *granted)

    @property
    def grants(self) -> "Grants | None":
        """What `allowed-tools` grants, None without that field: something only in the user's own files."""
        definition = self.definition if isinstance(self.definition, Skill) else self.command
        if definition is None or not definition.allowed_tools:
            return None
        from kaa.components.allowed_tools import Grants, grants_in  # lazy: few files have the field

        if self.candidate.is_of_project or self.candidate.plugin:
            return Grants((), ("`allowed-tools` is not used: its tools are approved as all others are",))
        if self.candidate.may_be_of_commands:
            return Grants((), ("`allowed-tools` is not used: commands could write the file, which lies in a project",))
        return grants_in(definition.allowed_tools)

    @property
    def has_own_parts(self) -> bool:
        """Whether it is a file of the user's own, in use, that does more than instruct the model."""
        if self.state != "used" or self.candidate.is_of_project or self.candidate.plugin or self.definition is None:
            return False
        return bool(self.hooks or getattr(self.definition, "allowed_tools", ()))

    @property
    def hooks(self) -> str:
        """Its hooks as JSON; empty if it has none."""
        definition = self.definition if isinstance(self.definition, Skill) else self.agent
        return "" if definition is None else definition.hooks

    @property
    def command(self) -> "CommandFile | None":
        """The command, if it is one."""
        from kaa.components.templates.command_file import CommandFile  # lazy: many users have no commands

        return self.definition if isinstance(self.definition, CommandFile) else None

    @property
    def agent(self) -> "AgentDefinition | None":
        """The definition of an agent, if it is one."""
        from kaa.components.agent_definition import AgentDefinition  # lazy: many users have no definitions

        return self.definition if isinstance(self.definition, AgentDefinition) else None

    def skill_file(self, root: str) -> SkillFile | None:
        """The skill with its place, if it is one that is used. `root`: the project's directory."""
        if not isinstance(self.definition, Skill) or self.state != "used":
            return None
        file = self.candidate.file
        # Of the user's, links lead anywhere, and commands in the sandbox see only where they lead to.
        path = os.path.normpath(os.path.join(root, file.path)) if self.candidate.is_of_project else file.real_path
        is_claude = file.place.agent in _CLAUDE
        skill = msgspec.structs.replace(self.definition, notes=self.notes)
        rules = self.grants.rules if self.grants else ()
        return SkillFile(skill, path, os.path.dirname(path), self.candidate.is_of_project, is_claude, rules)


def components_in(
    candidates: Iterable[Candidate], excluded: Callable[[Kind], Sequence[str]], read: ReadFields
) -> list[FoundComponent]:
    """What files are. Of those with the same name the first is used; a file that is found twice counts once.

    Args:
        candidates: the files, the most important first.
        excluded: globs of names that the user does not want.
    """
    used: dict[tuple[Kind, str], str] = {}
    components: dict[str, FoundComponent] = {}
    for candidate in candidates:
        file = candidate.file
        kind = file.place.kind
        if file.real_path in components:
            continue
        if (of_settings := _OF_SETTINGS.get(kind)) is not None:
            components[file.real_path] = of_settings(candidate)
            continue
        found = _definition(file, read)
        if candidate.plugin and not isinstance(found, Unusable):
            # Plugins name their skills by folders, as Claude Code does, whatever the skills call themselves.
            own = found.name if " " in file.name else file.name
            found = msgspec.structs.replace(found, name=f"{candidate.plugin}:{own}")
        if isinstance(found, Unusable):
            component = FoundComponent(candidate, file.name, None, "unusable", found.reason)
        elif candidate.obstacle:
            component = FoundComponent(candidate, found.name, found, "not wanted", candidate.obstacle)
        elif any(fnmatch.fnmatchcase(found.name, pattern) for pattern in excluded(kind)):
            component = FoundComponent(candidate, found.name, found, "not wanted", "the settings leave it out")
        elif (other := used.get((kind, found.name))) is not None:
            reason = f"{other} has the same name, {found.name}"
            component = FoundComponent(candidate, found.name, found, "unusable", reason)
        else:
            used[kind, found.name] = file.path
            component = FoundComponent(candidate, found.name, found)
        components[file.real_path] = component
    return list(components.values())


def _visible(text: str) -> str:
    """Without what a reader would not see, as for instructions of a project."""
    return replace_invisible(_CONTROLS.sub("", text), lambda _: "")


def _hook_component(candidate: Candidate) -> FoundComponent:
    from kaa.shell.components.hook_files import hooks_of, line_of  # lazy: many users have no hooks

    file = candidate.file
    found = hooks_of(file, of_project=candidate.is_of_project)
    lines = map(line_of, found.hooks)
    notes = [*found.notes, *dict.fromkeys(note for hook in found.hooks for note in hook.notes)]
    state: State = "not wanted" if candidate.obstacle else "used"
    return FoundComponent(candidate, file.name, None, state, candidate.obstacle, (*lines, *notes))


def _server_component(candidate: Candidate) -> FoundComponent:
    from kaa.shell.components.lsp_files import lines_of  # lazy: many users have no language servers

    file = candidate.file
    lines = tuple(lines_of(file))
    state: State = "not wanted" if candidate.obstacle else "used"
    return FoundComponent(candidate, file.name, None, state, candidate.obstacle, lines)


def _denials_component(candidate: Candidate) -> FoundComponent:
    from kaa.shell.components.claude_settings import lines_of  # lazy: few projects have such files

    state: State = "not wanted" if candidate.obstacle else "used"
    return FoundComponent(candidate, candidate.file.name, None, state, candidate.obstacle, lines_of(candidate.file))


_OF_SETTINGS: Final[Mapping[Kind, Callable[[Candidate], FoundComponent]]] = {
    "hook": _hook_component,
    "language server": _server_component,
    "deny rules": _denials_component,
}


def _definition(file: FoundFile, read: ReadFields) -> "Skill | CommandFile | AgentDefinition | Unusable":
    data = text_in(file.data, len(file.data))
    if problem := _not_text(data):
        return Unusable(problem)
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    visible = _visible(text)
    found = _parsed(file, visible, read)
    if isinstance(found, Unusable):
        return found
    shown = {field: _shown(value) for field, value in msgspec.structs.asdict(found).items() if field not in _NOT_SHOWN}
    seen = msgspec.structs.replace(found, **shown)  # YAML, TOML and JSON have escapes
    if (visible, seen) == (text, found):
        return found
    return msgspec.structs.replace(seen, notes=(*seen.notes, "characters that a reader would not see are left out"))


def _not_text(data: bytes) -> str:
    """Why a file holds no text, as a sentence without its end; empty if it does. Some broken characters are none."""
    beginning = data[:_LOOKED_AT_BYTES]
    broken = beginning.decode("utf-8", "replace").count("\ufffd")
    if b"\0" in beginning or broken > len(beginning) * _MOST_BROKEN:
        return "it holds no text, or text that is neither UTF-8 nor UTF-16 with a byte order mark"
    return ""


def _shown(value: object) -> object:
    if isinstance(value, str):
        return _visible(value)
    return tuple(map(_shown, value)) if isinstance(value, tuple) else value


def _parsed(file: FoundFile, text: str, read: ReadFields) -> "Skill | CommandFile | AgentDefinition | Unusable":
    if file.place.kind == "skill":
        return skill_in(document_in(text, read), posixpath.basename(file.name))
    if file.place.kind == "agent":
        from kaa.components.agent_definition.reading import agent_in, opencode_agents  # lazy: many users have none

        if file.place.is_file:
            found = opencode_agents(msgspec.json.decode(text))
            return next(iter(found.values()), Unusable("it is no object with fields"))
        return agent_in(file.name, text.encode(), DIALECTS_OF_AGENTS[file.place.agent], read)
    from kaa.components.templates.command_file import command_file  # lazy: many users have no commands

    return command_file(file.name, text.encode(), _DIALECTS[file.place.agent], read)
