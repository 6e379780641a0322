"""The skills that a conversation has, as an extension; conversations with the same ones share it."""

from collections.abc import Callable, Sequence

from kaa.builtin.skills import skills_extension
from kaa.ext.extensions import Extensions
from kaa.ext.places import ExtensionId
from kaa.shell.components import FoundFile, Place
from kaa.shell.components.finding import UserTree, find
from kaa.shell.components.known_fields import KnownFields
from kaa.shell.components.reading import Components, components_in
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
        self._made: dict[Components, ExtensionId] = {}

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
        excluded = [pattern[1:] for pattern in settings.skills if pattern.startswith("!")]
        both = [*((file, True) for file in files), *((file, False) for file in own.files)]
        components = components_in(both, root, excluded, self._fields)
        self._fields.keep()
        for notice in (*own.notices, *_told(components.problems)):
            notify(notice)
        if not components.skills:
            return None
        if components not in self._made:
            extension = ExtensionId.built_in(f"kaa.builtin.skills{len(self._made) or ''}")
            made = skills_extension(components.skills, components.problems)
            self._extensions.load(extension, made, built_in=True, beside=())
            self._made[components] = extension
        return self._made[components]


def _told(problems: Sequence[str]) -> list[str]:
    """The first problems, each in a line of its own."""
    told = [f"Not used: {' '.join(problem.split())}" for problem in problems[:_MOST_TOLD]]
    more = len(problems) - _MOST_TOLD
    return [*told, f"{more} more skills are not used: /skills shows them"] if more > 0 else told
