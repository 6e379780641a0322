"""Skills that a person names in a message: `$NAME` takes the instructions along, as in Codex."""

import re
from collections.abc import Mapping

import msgspec

from kaa.builtin.skills.instructions import instructions
from kaa.components.skill import SkillFile
from kaa.core.messages import TextContent, UserMessage
from kaa.ext.api import ConversationContext

_MENTION = re.compile(r"(?<![\w$\\])\$([A-Za-z0-9][A-Za-z0-9:_.-]*[A-Za-z0-9]|[A-Za-z0-9])")
_MOST_MENTIONED = 5


class SkillMentions:
    """Takes mentioned skills along with messages.

    Args:
        skills: those that the user can call, by name.
    """

    def __init__(self, skills: Mapping[str, SkillFile]) -> None:
        self._skills = skills

    async def attach(self, message: UserMessage, context: ConversationContext) -> UserMessage | None:
        """The message with the instructions of the skills that it names. Only what a person writes names skills."""
        if message.origin != "person" or "$" not in message.text:
            return None
        names = [name for name in dict.fromkeys(_MENTION.findall(message.text)) if name in self._skills]
        if not names:
            return None
        added = [TextContent(await instructions(self._skills[name], "", context)) for name in names[:_MOST_MENTIONED]]
        content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
        return msgspec.structs.replace(message, content=(*content, *added))
