"""What the model gets when a skill is used: its text, marked as one, and where its files are."""

import re

from kaa.components.skill import SkillFile
from kaa.ext.acting import ConversationActions

# What could end or begin the element inside its own text.
_ELEMENT = re.compile(r"<(?=[\s/]*skill\b)", re.IGNORECASE)


async def instructions(file: SkillFile, arguments: str, context: ConversationActions) -> str:
    """The instructions of a skill.

    Args:
        file: the skill.
        arguments: what it is to work on.
        context: runs the commands in its text, with the rules for commands of the model.
    """
    given = f"\n\nARGUMENTS: {arguments}" if arguments else ""
    return (
        f'<skill name="{file.skill.name}">\nRelative paths are relative to {file.folder}.\n\n'
        f"{_ELEMENT.sub('&lt;', file.skill.body)}\n</skill>{given}"
    )
