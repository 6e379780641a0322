"""`/skill:NAME` uses a skill, `/skills` shows them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from kaa.builtin.skills.index import CHARACTERS_PER_TOKEN, SkillIndex, shortened
from kaa.builtin.skills.instructions import instructions
from kaa.components.skill import SkillFile
from kaa.core.terminal_text import plain_text
from kaa.ext.api import Command, CommandContext, Submit

if TYPE_CHECKING:
    from kaa.components.agent_definition import ModelRole

_DESCRIPTION_CHARACTERS = 120


def skill_command(file: SkillFile, models: "Mapping[ModelRole, str]") -> Command:
    """The command that uses a skill. `models`: the user's, by what they are for."""
    skill = file.skill
    about = shortened(skill.description, _DESCRIPTION_CHARACTERS)
    return Command(f"skill:{skill.name}", about, partial(_use, file, models), skill.argument_hint)


async def _use(file: SkillFile, models: "Mapping[ModelRole, str]", arguments: str, context: CommandContext) -> Submit:
    if file.skill.forks and file.skill.for_model:
        return Submit(f"Use the skill {file.skill.name}. Its arguments: {arguments or 'none'}")
    tell_of_grants(file.grants, context)
    text = await instructions(file, arguments, context)
    return in_run(Submit(text, allow=file.grants), file.skill.model, file.skill.effort, models)


def in_run(submit: Submit, model: str, effort: str, models: "Mapping[ModelRole, str]") -> Submit:
    """A message for a run that the model and with the effort that a file names answers.

    Args:
        model: as the file names it; empty for that of the conversation.
        models: the user's, by what they are for.
    """
    if not model and not effort:
        return submit
    from kaa.components.agent_definition.models import model_choice, queries_for, thinking_level  # lazy: few files

    queries = queries_for(model_choice(model), models)
    return msgspec.structs.replace(submit, models=tuple(queries), thinking=thinking_level(effort))


def tell_of_grants(grants: Sequence[str], context: CommandContext) -> None:
    """Say what the run needs no question for, where it otherwise would."""
    if grants and context.approvals.policy == "ask":
        context.show.notice(f"Allowed in this run by `allowed-tools`: {'; '.join(grants)}")


def listing(files: Sequence[SkillFile], problems: Sequence[str], index: SkillIndex) -> str:
    """The skills for people: what each is for, where it is, what kaa does not use of it."""
    lines = [f"{len(files)} skills; their index is {index.tokens} tokens of each request."] if files else ["No skills."]
    for file in files:
        skill = file.skill
        tokens = len(skill.body) // CHARACTERS_PER_TOKEN
        whom = (
            "" if skill.for_model and skill.for_user else ", for you only" if skill.for_user else ", for the model only"
        )
        lines += ["", f"{skill.name} ({tokens} tokens when used{whom}): {shortened(skill.description, 200)}"]
        lines += [f"  {_line(file.path)}", *(f"  {note}" for note in skill.notes)]
    return "\n".join([*lines, *(["", "Not used:", *(f"  {_line(one)}" for one in problems)] if problems else [])])


def _line(text: str) -> str:
    """Names of files in one line: they may have several."""
    return " ".join(plain_text(text).split())
