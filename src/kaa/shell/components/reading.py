"""Makes skills of files that were found: each name once, and every file that is not used with the reason."""

import fnmatch
import os
import posixpath
from collections.abc import Iterable, Sequence

import msgspec

from kaa.components.frontmatter import ReadFields, document_in
from kaa.components.skill import SkillFile, Unusable, skill_in
from kaa.shell.components import FoundFile

# Whose skills have placeholders and commands as Claude Code has them.
_CLAUDE = ("claude",)


class Components(msgspec.Struct, frozen=True):
    """What can be used. `problems`: what cannot, and why, a sentence for each file."""

    skills: tuple[SkillFile, ...] = ()
    problems: tuple[str, ...] = ()


def components_in(
    files: Iterable[tuple[FoundFile, bool]], root: str, excluded: Sequence[str], read: ReadFields
) -> Components:
    """The components that files define. Of those with the same name the first is used.

    Args:
        files: with whether they are the project's.
        root: the project's directory.
        excluded: globs of names that the user does not want.
        read: reads fields.
    """
    skills: dict[str, SkillFile] = {}
    problems: list[str] = []
    seen: set[str] = set()
    for file, is_of_project in files:
        if file.real_path in seen:
            continue
        seen.add(file.real_path)
        if file.place.kind != "skill":
            continue
        skill = skill_in(document_in(file.data.decode("utf-8", "replace"), read), posixpath.basename(file.name))
        if isinstance(skill, Unusable):
            problems.append(f"{file.path}: {skill.reason}")
        elif any(fnmatch.fnmatchcase(skill.name, pattern) for pattern in excluded):
            continue
        elif (other := skills.get(skill.name)) is not None:
            problems.append(f"{file.path}: {other.path} has the same name, {skill.name}")
        else:
            path = os.path.join(root, file.path)
            skills[skill.name] = SkillFile(
                skill, path, os.path.dirname(path), is_of_project, file.place.agent in _CLAUDE
            )
    return Components(tuple(skills.values()), tuple(problems))
