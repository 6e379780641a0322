"""What the model gets when a skill is used: its text, marked as one, and where its files are."""

import os
import re

from kaa.components.skill import SkillFile, UsedSkills
from kaa.ext.api import CommandContext, ConversationContext

_MOST_NAMED = 20
# What could end or begin the element inside its own text.
_ELEMENT = re.compile(r"<(?=[\s/]*skill\b)", re.IGNORECASE)


async def instructions(file: SkillFile, arguments: str, context: ConversationContext | CommandContext) -> str:
    """The instructions of a skill.

    Args:
        context: runs the commands in its text, with the rules for commands of the model.
    """
    if file.skill.hooks:
        context.state(UsedSkills, UsedSkills).names.add(file.skill.name)
    body, given = file.skill.body, f"\n\nARGUMENTS: {arguments}" if arguments else ""
    if file.is_claude:
        from kaa.builtin.expanding import expanded  # lazy: skills of the standard have no placeholders

        variables = {"CLAUDE_SKILL_DIR": file.folder, "CLAUDE_PROJECT_DIR": context.workspace.root}
        names = file.skill.argument_names
        body = await expanded(body, arguments, "claude", context, source=file.path, names=names, variables=variables)
        given = ""
    text = _ELEMENT.sub("&lt;", "\n\n".join([body, *await _files(file, context)]))
    return f'<skill name="{file.skill.name}">\n{text}\n</skill>{given}'


async def _files(file: SkillFile, context: ConversationContext | CommandContext) -> list[str]:
    """Where the files of a skill are, and their names; nothing if it has none, as small models look for some then."""
    if os.path.basename(file.path).upper() != "SKILL.MD":  # one file among others
        return []
    try:
        entries = await context.workspace.list(file.folder)
    except OSError:
        return []
    names = sorted(f"{entry.name}/" if entry.kind == "directory" else entry.name for entry in entries)
    names = [name for name in names if os.path.join(file.folder, name) != file.path]
    if not names:
        return []
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return [f"Files of this skill, in {file.folder}: {', '.join([*names[:_MOST_NAMED], *more])}"]
