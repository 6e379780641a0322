"""The skills that a conversation has, as an extension; conversations with the same ones share it."""

from collections.abc import Callable, Sequence

from kaa.builtin.skills import skills_extension
from kaa.components.skill import SkillFile
from kaa.ext.extensions import Extensions
from kaa.ext.places import ExtensionId
from kaa.shell.components import FoundFile, Place
from kaa.shell.components.finding import UserTree, find
from kaa.shell.components.known_fields import KnownFields
from kaa.shell.components.reading import Candidate, components_in
from kaa.shell.home import Home
from kaa.shell.settings import Settings

_MOST_TOLD = 3


class ComponentExtensions:
    """Makes such extensions.

    Args:
        home: the user's folder.
        extensions: those that are loaded.
    """

    def __init__(self, home: Home, extensions: Extensions) -> None:
        self._extensions = extensions
        self._fields = KnownFields(home.cache)
        self._made: dict[tuple[tuple[SkillFile, ...], tuple[str, ...]], ExtensionId] = {}

    async def of_conversation(
        self,
        root: str,
        files: Sequence[FoundFile],
        places: Sequence[Place],
        settings: Settings,
        notify: Callable[[str], None],
    ) -> ExtensionId | None:
        """The extension for a conversation; None if it has no skills.

        Args:
            root: the project's directory.
            files: the files of the project's components that the user trusts.
            places: where the user has components.
            settings: of the conversation.
            notify: told, in a sentence each, what cannot be used.
        """
        own = await find(UserTree(), places, None)
        both = [*(Candidate(file, True) for file in files), *(Candidate(file, False) for file in own.files)]
        components = components_in(both, settings.excluded_skills, self._fields)
        self._fields.keep()
        unusable = [one for one in components if one.state == "unusable"]
        problems = tuple(f"{one.candidate.file.path}: {one.reason}" for one in unusable)
        for notice in (*own.notices, *_told(problems)):
            notify(notice)
        skills = tuple(skill for one in components if (skill := one.skill_file(root)) is not None)
        if not skills:
            return None
        if (skills, problems) not in self._made:
            extension = ExtensionId.built_in(f"kaa.builtin.skills{len(self._made) or ''}")
            self._extensions.load(extension, skills_extension(skills, problems), built_in=True, beside=())
            self._made[skills, problems] = extension
        return self._made[skills, problems]


def _told(problems: Sequence[str]) -> list[str]:
    """The first problems, each in a line of its own."""
    told = [f"Not used: {' '.join(problem.split())}" for problem in problems[:_MOST_TOLD]]
    more = len(problems) - _MOST_TOLD
    return [*told, f"{more} more skills are not used: /skills shows them"] if more > 0 else told
