"""Skills: a folder with a SKILL.md, as https://agentskills.io/specification says, and as Claude Code extends it.

The fields of other agents are read leniently: what would make a skill unusable elsewhere is only noted here.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping

import msgspec

from kaa.components.frontmatter import MarkdownFile, hint_of, is_true, names_of, text_of
from kaa.core.terminal_text import plain_text

# Limits of the specification, in characters.
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500

_STANDARD = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
# What Claude Code adds, as far as kaa uses it.
_USED = frozenset(
    {
        "when_to_use",
        "argument-hint",
        "arguments",
        "disable-model-invocation",
        "user-invocable",
        "context",
        "paths",
        "hooks",
        "model",
        "effort",
    }
)
# What only describes a skill, as many do.
_DESCRIBING = frozenset({"version", "author", "tags"})
# What is of use only if an agent carries the skill out.
_OF_AGENTS = {
    "disallowed-tools": "it has all tools, because no separate agent carries it out",
    "agent": "no separate agent carries it out without `context: fork`",
}
_UNUSED = {
    "background": "it does not run in the background",
    "shell": "its commands run in bash",
}
_MOST_UNKNOWN = 20  # fields that are named
_MOST_CHARACTERS = 400  # of a note
_CALLABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.-]*")


class Skill(msgspec.Struct, frozen=True):
    """A skill.

    Attributes:
        name: how it is called; letters, digits, `-`, `_`, `.` and `:`.
        description: what it is for and when to use it; one line.
        argument_hint: what can be given along, for people.
        argument_names: names of the arguments, in order.
        for_model: the model may use it by itself.
        for_user: the user can call it.
        forks: an agent of its own carries it out.
        allowed_tools: tools that the file wants to have approved, with their patterns.
        paths: globs; it is of use for such files only.
        hooks: its hooks, as JSON; empty for none.
        model: which model is to carry it out, as the file names it; empty: that of the conversation.
        effort: how hard it is to think, likewise.
        agent: the definition of the agent that carries it out; empty: one with the tools of the conversation.
        excluded_tools: tools that this agent shall not have, with their patterns.
        notes: what kaa does not use or what the specification forbids, in sentences.
    """

    name: str
    description: str
    body: str
    argument_hint: str = ""
    argument_names: tuple[str, ...] = ()
    for_model: bool = True
    for_user: bool = True
    forks: bool = False
    paths: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    hooks: str = ""
    model: str = ""
    effort: str = ""
    agent: str = ""
    excluded_tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Unusable(msgspec.Struct, frozen=True):
    """A file that kaa cannot use. `reason`: why, as a sentence without its end."""

    reason: str


def skill_in(document: MarkdownFile, folder: str) -> Skill | Unusable:
    """The skill that a SKILL.md describes."""
    fields = document.fields
    if document.problem and not fields:
        return Unusable(_note(document.problem))
    notes = [*([document.problem] if document.problem else []), *problems(fields, folder)]
    name = text_of(fields.get("name"))
    if not _CALLABLE.fullmatch(name) or len(name) > MAX_NAME:
        name = folder
    if not _CALLABLE.fullmatch(name) or len(name) > MAX_NAME:
        return Unusable(f"its name {name[:MAX_NAME]!r} cannot be called: use up to {MAX_NAME} letters, digits and -")
    description = _described(fields) or _first_paragraph(document.body)
    if not description:
        return Unusable("it has no description")
    forks = text_of(fields.get("context")) == "fork"
    unused = _UNUSED if forks else {**_OF_AGENTS, **_UNUSED}
    notes += [f"`{field}` is not used: {instead}" for field, instead in unused.items() if field in fields]
    notes += unknown_effort(fields)
    known = _STANDARD | _USED | _DESCRIBING | _OF_AGENTS.keys() | _UNUSED.keys()
    unknown = [field for field in fields if field not in known]
    notes += [f"`{field}` is unknown" for field in unknown[:_MOST_UNKNOWN]]
    if len(unknown) > _MOST_UNKNOWN:
        notes.append(f"{len(unknown) - _MOST_UNKNOWN} more fields are unknown")
    return Skill(
        name,
        description,
        document.body,
        argument_hint=hint_of(fields.get("argument-hint")),
        argument_names=names_of(fields.get("arguments")),
        for_model=not is_true(fields.get("disable-model-invocation")),
        for_user=text_of(fields.get("user-invocable")).lower() not in ("false", "no", "off"),
        forks=forks,
        paths=names_of(fields.get("paths")),
        allowed_tools=names_of(fields.get("allowed-tools")),
        hooks=_hooks(fields.get("hooks")),
        model=text_of(fields.get("model")),
        effort=text_of(fields.get("effort")),
        agent=text_of(fields.get("agent")) if forks else "",
        excluded_tools=names_of(fields.get("disallowed-tools")) if forks else (),
        notes=tuple(map(_note, notes)),
    )


def unknown_effort(fields: Mapping[str, object]) -> list[str]:
    """That the field `effort` is not understood, in a sentence without its end; empty if it is."""
    if not (effort := text_of(fields.get("effort"))):
        return []
    from kaa.components.agent_definition.models import thinking_level  # lazy: few files have the field

    return [] if thinking_level(effort) else [f"`effort: {effort}` is unknown: the conversation's thinking level holds"]


def _hooks(value: object) -> str:
    if not value:
        return ""
    from kaa.components.hooks.reading import hooks_text  # lazy: few skills have hooks

    return hooks_text(value)


def problems(fields: dict[str, object], folder: str) -> list[str]:
    """How the standard fields break the specification, in sentences without their ends; empty if they do not.

    Agrees with the reference validator (`skills-ref` 0.1.1), which also rejects all fields but the standard ones.
    """
    found = [*_missing(fields), *_name_problems(fields.get("name"), folder)]
    for field, most in (("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)):
        value = fields.get(field, "")
        if not isinstance(value, str):
            found.append(f"`{field}` is no text")
        elif len(value) > most:
            found.append(f"`{field}` has {len(value)} characters; at most {most} are allowed")
    return found


def _missing(fields: dict[str, object]) -> list[str]:
    def is_blank(value: object) -> bool:
        return not value or (isinstance(value, str) and not value.strip())

    return [f"`{field}` is missing" for field in ("name", "description") if is_blank(fields.get(field))]


def _name_problems(value: object, folder: str) -> list[str]:
    if not isinstance(value, str):
        return [] if value is None else ["`name` is no text"]
    name = unicodedata.normalize("NFKC", value.strip())
    rules: tuple[tuple[Callable[[str], bool], str], ...] = (
        (lambda name: len(name) <= MAX_NAME, f"has more than {MAX_NAME} characters"),
        (lambda name: name == name.lower(), "has capital letters"),
        (lambda name: not name.startswith("-") and not name.endswith("-"), "begins or ends with -"),
        (lambda name: "--" not in name, "has two - in a row"),
        (lambda name: all(one.isalnum() or one == "-" for one in name), "has other characters than letters, digits, -"),
        (lambda name: name == unicodedata.normalize("NFKC", folder), f"is not the name of its folder, {folder}"),
    )
    return [f"`name` {reason}" for holds, reason in rules if name and not holds(name)]


def _note(text: str) -> str:
    """A sentence in one line, whatever the names in it have."""
    line = " ".join(plain_text(text).split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"


def _described(fields: dict[str, object]) -> str:
    parts = (text_of(fields.get("description")), text_of(fields.get("when_to_use")))
    return " ".join(part for part in parts if part)[: MAX_DESCRIPTION + 512]


def _first_paragraph(body: str) -> str:
    lines: list[str] = []
    for line in body.splitlines():
        if line.strip() and not line.startswith("#"):
            lines.append(line.strip())
        elif lines:
            break
    return " ".join(lines)[:MAX_DESCRIPTION]


class UsedSkills(msgspec.Struct):
    """The skills with hooks that a conversation has used, by name."""

    names: set[str] = set()


class SkillFile(msgspec.Struct, frozen=True):
    """A skill, and where it is.

    Attributes:
        path: of its file, absolute.
        folder: with the files that belong to it, absolute.
        is_of_project: whether the project brought it; otherwise it is the user's.
        is_claude: it has placeholders and commands as Claude Code has them.
        grants: allow rules for the run in which the user calls it.
    """

    skill: Skill
    path: str
    folder: str
    is_of_project: bool = False
    is_claude: bool = False
    grants: tuple[str, ...] = ()
