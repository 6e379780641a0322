"""What the model gets when a skill is used: its text, marked as one, and where its files are."""

import re

from kaa.components.skill import SkillFile
from kaa.ext.api import CommandContext, ConversationContext

# What could end or begin the element inside its own text.
_ELEMENT = re.compile(r"<(?=[\s/]*skill\b)", re.IGNORECASE)


async def instructions(file: SkillFile, arguments: str, context: ConversationContext | CommandContext) -> str:
    """The instructions of a skill.

    Args:
        file: the skill.
        arguments: what it is to work on.
        context: runs the commands in its text, with the rules for commands of the model.
    """
    body, given = file.skill.body, f"\n\nARGUMENTS: {arguments}" if arguments else ""
    if file.is_claude:
        from kaa.builtin.expanding import expanded  # lazy: skills of the standard have no placeholders

        variables = {"CLAUDE_SKILL_DIR": file.folder, "CLAUDE_PROJECT_DIR": context.workspace.root}
        names = file.skill.argument_names
        body = await expanded(body, arguments, "claude", context, source=file.path, names=names, variables=variables)
        given = ""
    return (
        f'<skill name="{file.skill.name}">\nRelative paths are relative to {file.folder}.\n\n'
        f"{_ELEMENT.sub('&lt;', body)}\n</skill>{given}"
    )
