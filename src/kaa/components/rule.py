"""Rules: Markdown files with instructions for all files or for some, as several agents have them.

Sources, November 2026: `.claude/rules` in the documentation of Claude Code (field `paths`, which Cline has too),
"Rules" in that of Cursor (fields `description`, `globs`, `alwaysApply`) and of Windsurf (`trigger` instead of
`alwaysApply`), and "path-specific instructions" in that of GitHub Copilot (field `applyTo`).
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Literal, TypeAlias

import msgspec

from kaa.components.frontmatter import MarkdownFile, is_true, text_of

RuleDialect: TypeAlias = Literal["claude", "cursor", "windsurf", "copilot"]

_FIELDS: Final[Mapping[RuleDialect, str]] = {
    "claude": "paths",
    "cursor": "globs",
    "windsurf": "globs",
    "copilot": "applyTo",
}
"""Which field has the globs."""


_MAX_GLOBS = 64
_MAX_CHARACTERS = 512  # of a glob
_MAX_ALTERNATIVES = 64  # of the braces in a glob
_MAX_PARTS = 32  # of a path in a glob
_BETWEEN = re.compile(r"(?:[^\s,{]|\{[^{}]*\}?)+")
_BRACES = re.compile(r"\{([^{}]*)\}")
_FOR_ALL_FILES: Final[Mapping[RuleDialect, Sequence[Sequence[str]]]] = {
    "claude": ([],),
    "cursor": (),
    "windsurf": (),
    "copilot": (["**"], ["**/*"]),
}


class InstructionRule(msgspec.Struct, frozen=True):
    """A rule.

    Attributes:
        description: what it is for; one line.
        globs: it is for the files that match one of these, relative to the project.
        always: it is for all files.
        notes: what kaa does not understand of it, as the ends of sentences.
    """

    text: str
    description: str = ""
    globs: tuple[str, ...] = ()
    always: bool = False
    notes: tuple[str, ...] = ()


def rule_in(document: MarkdownFile, dialect: RuleDialect) -> InstructionRule:
    """The rule that a file describes. A rule for some files whose globs are all invalid is for none."""
    fields = document.fields
    # Globs are not meant as YAML everywhere: `globs: *.ts` would be an alias.
    notes = [document.problem] if document.problem and dialect == "claude" else []
    globs: list[str] = []
    named = _globs_of(fields.get(_FIELDS[dialect]))
    for glob in named[:_MAX_GLOBS]:
        try:
            globs += _alternatives(glob, anywhere=dialect in ("cursor", "windsurf"))
        except ValueError as error:
            notes.append(f"the glob {glob[:80]!r} is ignored, because {error}")
    if len(named) > _MAX_GLOBS:
        notes.append(f"only the first {_MAX_GLOBS} of its globs are used")
    trigger = text_of(fields.get("trigger")) if dialect == "windsurf" else ""
    always = is_true(fields.get("alwaysApply")) or trigger == "always_on" or named in _FOR_ALL_FILES[dialect]
    description = text_of(fields.get("description"))
    return InstructionRule(document.body, description, () if always else tuple(globs), always, tuple(notes))


def matches(globs: Sequence[str], path: str) -> bool:
    """Whether a file is one of those that globs of a rule mean.

    Args:
        globs: of an `InstructionRule`.
        path: relative to the project.
    """
    parts = tuple(path.split("/"))
    return any(_fits(tuple(glob.split("/")), parts) for glob in globs)


def seen_from(globs: Sequence[str], folder: str) -> tuple[str, ...]:
    """The globs of a rule for the files in a folder, relative to it.

    Args:
        globs: of an `InstructionRule`.
        folder: relative to what the globs are relative to.
    """
    found: dict[str, None] = {}
    for glob in globs:
        parts = tuple(glob.split("/"))
        begun = {0}  # how many parts of the glob may be used up by the folder so far
        for name in folder.split("/"):
            for at in range(len(parts)):  # `**` may stand for nothing
                if at in begun and parts[at] == "**":
                    begun.add(at + 1)
            begun = {
                at if parts[at] == "**" else at + 1
                for at in begun
                if at < len(parts) and (parts[at] == "**" or fnmatch.fnmatchcase(name, parts[at]))
            }
        found |= {"/".join(parts[at:]): None for at in sorted(begun) if at < len(parts)}
    return tuple(found)


def _fits(glob: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether a path matches, part by part, in a time of the product of both lengths whatever a project's globs are."""

    @cache
    def fits(at: int, part: int) -> bool:
        if at == len(glob):
            return part == len(path)
        if glob[at] == "**":
            return fits(at + 1, part) or (part < len(path) and fits(at, part + 1))
        return part < len(path) and fnmatch.fnmatchcase(path[part], glob[at]) and fits(at + 1, part + 1)

    return len(path) <= _MAX_PARTS * 4 and fits(0, 0)


def _globs_of(value: object) -> list[str]:
    """The globs in a field: a list, or a text with commas or spaces, where braces keep what is in them."""
    texts = value if isinstance(value, list) else [value]
    return [glob for text in texts for glob in _BETWEEN.findall(text_of(text))]


def _alternatives(glob: str, *, anywhere: bool) -> list[str]:
    """A glob without its braces, as the globs that it stands for.

    Args:
        glob: as the file has it.
        anywhere: a glob without `/` means files in all folders.

    Raises:
        ValueError: it means nothing in the project; the message is the end of a sentence.
    """
    if len(glob) > _MAX_CHARACTERS:
        raise ValueError(f"it has more than {_MAX_CHARACTERS} characters")
    if glob.startswith(("!", "~", "../")) or "/../" in glob:
        raise ValueError("it does not name files of the project")
    found = [glob.removeprefix("./").removeprefix("/")]
    while any("{" in one for one in found):
        if any(_BRACES.search(one) is None for one in found if "{" in one):
            raise ValueError("a brace is not closed")
        found = [filled for one in found for filled in _filled(one)]
        if len(found) > _MAX_ALTERNATIVES:
            raise ValueError(f"its braces stand for more than {_MAX_ALTERNATIVES} globs")
    if any(one.count("/") >= _MAX_PARTS for one in found):
        raise ValueError(f"it has more than {_MAX_PARTS} parts")
    return [_whole(one, anywhere=anywhere and "/" not in one) for one in found if one]


def _filled(glob: str) -> list[str]:
    braces = _BRACES.search(glob)
    if braces is None:
        return [glob]
    return [f"{glob[: braces.start()]}{one}{glob[braces.end() :]}" for one in braces[1].split(",")]


def _whole(glob: str, *, anywhere: bool) -> str:
    """A glob for whole paths: that of a folder means the files in it."""
    glob = f"{glob}**" if glob.endswith("/") else glob
    return f"**/{glob}" if anywhere else glob
