"""Registers sections of the system prompt."""

from collections.abc import Callable
from typing import TypeVar, overload

from kaa.ext.prompt_sections import PromptSection
from kaa.ext.registration.base import Registrar, require_function

PromptSectionT = TypeVar("PromptSectionT", bound=PromptSection)


class PromptRegistrations(Registrar):
    """The system prompt."""

    @overload
    def add_prompt_section(self, name: str, section: PromptSectionT) -> PromptSectionT: ...

    @overload
    def add_prompt_section(self, name: str) -> Callable[[PromptSectionT], PromptSectionT]: ...

    def add_prompt_section(
        self, name: str, section: PromptSectionT | None = None
    ) -> PromptSectionT | Callable[[PromptSectionT], PromptSectionT]:
        """Add a section to the system prompt, or replace the section of this name. Without `section`, a decorator.

        `section` gets a `PromptContext` and returns a text, or None for nothing. It runs when kaa opens a conversation,
        and when extensions or their tools came or went; the new prompt is in force from the next run on. Sections
        appear in the order of registration. It has no time limit and must return at once. If it raises, kaa does not
        open the conversation, or keeps the prompt as it was.
        """

        def register(section: PromptSectionT) -> PromptSectionT:
            require_function(section)
            scope = self._open_scope()
            scope.sections[name] = section
            self._registrations.changed(scope)
            return section

        return register if section is None else register(section)
