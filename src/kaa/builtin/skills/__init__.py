"""Skills as an extension: an index in the prompt, the tool `skill`, `/skill:NAME`, `$NAME` in messages, `/skills`."""

from collections.abc import Sequence

from kaa.builtin.skills.commands import listing, skill_command
from kaa.builtin.skills.index import SkillIndex
from kaa.builtin.skills.mentions import SkillMentions
from kaa.builtin.skills.tool import skill_tool
from kaa.components.skill import SkillFile
from kaa.ext.api import CommandContext, Extension, ExtensionAPI, Reply


def skills_extension(files: Sequence[SkillFile], problems: Sequence[str] = ()) -> Extension:
    """The extension for the skills of a conversation.

    Args:
        files: the skills, each name once.
        problems: which files are not used and why, in sentences.
    """
    by_name = {file.skill.name: file for file in files}
    for_model = {name: file for name, file in by_name.items() if file.skill.for_model}
    for_user = {name: file for name, file in by_name.items() if file.skill.for_user}

    def extend(api: ExtensionAPI) -> None:
        index = SkillIndex([file.skill for file in for_model.values()])
        if for_model:
            api.register_tool(skill_tool(for_model), risk="read", title="{name}", lasting=True)
            api.add_prompt_section("skills", index.section)
        api.replace_commands((), [skill_command(file) for file in for_user.values()])
        api.on_user_message(SkillMentions(for_user).attach)

        async def skills(_arguments: str, _context: CommandContext) -> Reply:
            return Reply(listing(files, problems, index))

        about = "Show the skills, where they are, and what kaa does not use of them"
        api.register_command("skills", about, skills, argument_hint=None, while_running=True)

    return extend
