"""Registers sections of the system prompt."""

from kaa.ext.prompt_sections import PromptSection
from kaa.ext.registration.base import Registrar, require_function


class PromptRegistrations(Registrar):
    """The system prompt."""

    def add_prompt_section(self, name: str, section: PromptSection) -> None:
        """Add a section to the system prompt, or replace the section of this name.

        `section` gets a `PromptContext` and returns a text, or None for nothing. It runs when kaa opens a conversation,
        and when extensions or their tools came or went; the new prompt is in force from the next run on. Sections
        appear in the order of registration. It has no time limit and must return at once. If it raises, kaa does not
        open the conversation, or keeps the prompt as it was.
        """
        require_function(section)
        scope = self._open_scope()
        scope.sections[name] = section
        self._registrations.changed(scope)
