"""Skills as an extension: an index in the prompt, the tool `skill`, `/skill:NAME`, `$NAME` in messages, `/skills`."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.builtin.skills.commands import listing, skill_command
from kaa.builtin.skills.index import SkillIndex, skill_tool
from kaa.builtin.skills.instructions import instructions
from kaa.components.skill import SkillFile
from kaa.core.messages import TextContent, UserMessage
from kaa.ext.api import CommandContext, ConversationContext, Extension, ExtensionAPI, Reply

if TYPE_CHECKING:
    from kaa.components.agent_definition import AgentDefinition, ModelRole


def skills_extension(
    files: Sequence[SkillFile],
    problems: Sequence[str],
    definitions: "Sequence[AgentDefinition]",
    models: "Mapping[ModelRole, str]",
) -> Extension:
    """The extension for the skills of a conversation.

    Args:
        files: the skills, each name once.
        problems: which files are not used and why, in sentences.
        definitions: of agents that carry skills out, each name once.
        models: the user's, as `--model` takes them, by what they are for.
    """
    by_name = {file.skill.name: file for file in files}
    for_model = {name: file for name, file in by_name.items() if file.skill.for_model}
    for_user = {name: file for name, file in by_name.items() if file.skill.for_user}

    def extend(api: ExtensionAPI) -> None:
        index = SkillIndex([file.skill for file in for_model.values()])
        if for_model:
            agents = {one.name: one for one in definitions}
            api.register_tool(skill_tool(for_model, agents, models), risk="read", title="{name}", lasting=True)
            api.add_prompt_section("skills", index.section)
        api.replace_commands((), [skill_command(file, models) for file in for_user.values()])
        api.on_user_message(_SkillMentions(for_user).attach)

        async def skills(_arguments: str, _context: CommandContext) -> Reply:
            return Reply(listing(files, problems, index))

        about = "Show the skills, where they are, and what kaa does not use of them"
        api.register_command("skills", about, skills, argument_hint=None, while_running=True)

    return extend


# As in Codex.
_MENTION = re.compile(r"(?<![\w$\\])\$([A-Za-z0-9][A-Za-z0-9:_.-]*[A-Za-z0-9]|[A-Za-z0-9])")
_MOST_MENTIONED = 5


class _SkillMentions:
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
