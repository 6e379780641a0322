"""Makes skills of files that were found: each name once, and of every file what it is and why it is not used."""

import fnmatch
import os
import posixpath
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from kaa.components.frontmatter import ReadFields, document_in
from kaa.components.skill import Skill, SkillFile, Unusable, skill_in
from kaa.shell.components import FoundFile

# Whose skills have placeholders and commands as Claude Code has them.
_CLAUDE = ("claude",)

State: TypeAlias = Literal["used", "not wanted", "unusable"]
"""`not wanted`: not trusted, not asked for, or left out by the user. `unusable`: something is wrong with it."""


class Candidate(NamedTuple):
    """A file that may be used.

    Attributes:
        file: the file.
        is_of_project: whether the project brought it; otherwise it is the user's.
        obstacle: why the user does not want it, as the rest of a sentence; empty if there is no such reason.
    """

    file: FoundFile
    is_of_project: bool
    obstacle: str = ""


class Component(NamedTuple):
    """What a file is.

    Attributes:
        candidate: the file.
        name: of the component.
        state: whether it is used.
        reason: why it is not, as the rest of a sentence.
        skill: what it defines; None if it defines nothing.
    """

    candidate: Candidate
    name: str
    state: State
    reason: str = ""
    skill: Skill | None = None

    def skill_file(self, root: str) -> SkillFile | None:
        """The skill with its place, if it is one that is used. `root`: the project's directory."""
        if self.skill is None or self.state != "used":
            return None
        file = self.candidate.file
        path = os.path.join(root, file.path)
        is_claude = file.place.agent in _CLAUDE
        return SkillFile(self.skill, path, os.path.dirname(path), self.candidate.is_of_project, is_claude)


def components_in(candidates: Iterable[Candidate], excluded: Sequence[str], read: ReadFields) -> list[Component]:
    """What files are. Of those with the same name the first is used; a file that is found twice counts once.

    Args:
        candidates: the files, the most important first.
        excluded: globs of names that the user does not want.
        read: reads fields.
    """
    used: dict[str, str] = {}
    components: dict[str, Component] = {}
    for candidate in candidates:
        file = candidate.file
        if file.real_path in components or file.place.kind != "skill":
            continue
        found = skill_in(document_in(file.data.decode("utf-8", "replace"), read), posixpath.basename(file.name))
        if isinstance(found, Unusable):
            component = Component(candidate, file.name, "unusable", found.reason)
        elif candidate.obstacle:
            component = Component(candidate, found.name, "not wanted", candidate.obstacle, found)
        elif any(fnmatch.fnmatchcase(found.name, pattern) for pattern in excluded):
            component = Component(candidate, found.name, "not wanted", "the setting `skills` leaves it out", found)
        elif found.name in used:
            reason = f"{used[found.name]} has the same name, {found.name}"
            component = Component(candidate, found.name, "unusable", reason, found)
        else:
            used[found.name] = file.path
            component = Component(candidate, found.name, "used", skill=found)
        components[file.real_path] = component
    return list(components.values())
