"""The slash commands that choose the model, how hard it thinks, approvals, and trust in the project."""

from collections.abc import Sequence
from typing import get_args

from kaa.builtin.picking import pick
from kaa.core.provider import ThinkingLevel
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply, Suggestion

_UNCHANGED = Reply("nothing was changed")


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command(
        "model",
        "Choose the model",
        _model,
        argument_hint="[NAME[:LEVEL]]",
        complete=_models,
        while_running=True,
    )
    api.register_command(
        "thinking",
        "Choose how hard the model thinks",
        _thinking,
        argument_hint="[LEVEL]",
        complete=lambda typed, context: _fitting(typed, context.models.current.levels),
        while_running=True,
    )
    api.register_command(
        "approvals",
        "Choose which tool calls need your approval",
        _approvals,
        argument_hint="[MODE]",
        complete=lambda typed, context: [
            Suggestion(name, meaning) for name, meaning in context.approvals.policies.items() if name.startswith(typed)
        ],
        while_running=True,
    )
    api.register_command("trust", "Decide whether the project may configure kaa", _trust, while_running=True)


async def _model(arguments: str, context: CommandContext) -> CommandAction:
    models = context.models
    query = arguments or await pick(
        context.asker, "Which model?", [model.qualified_id for model in models.available()], models.current.name
    )
    return Reply(f"{(await models.switch(query)).name} answers from now on") if query else _UNCHANGED


async def _thinking(arguments: str, context: CommandContext) -> CommandAction:
    current = context.models.current
    level = arguments or await pick(context.asker, "How hard to think?", current.levels, current.thinking)
    return Reply(f"thinking: {context.models.think(level)}") if level else _UNCHANGED


async def _approvals(arguments: str, context: CommandContext) -> CommandAction:
    approvals = context.approvals
    details = "\n".join(f"{name}: {meaning}" for name, meaning in approvals.policies.items())
    policy = arguments or await pick(
        context.asker, "Which tool calls need your approval?", tuple(approvals.policies), approvals.policy, details
    )
    return Reply(f"approvals: {approvals.choose(policy)}") if policy else _UNCHANGED


async def _trust(_arguments: str, context: CommandContext) -> CommandAction:
    return Reply(await context.trust.review())


def _models(typed: str, context: CommandContext) -> list[Suggestion]:
    names = [model.qualified_id for model in context.models.available()]
    model, colon, level = typed.rpartition(":")
    if colon and model in names:
        return [Suggestion(f"{model}:{one.text}") for one in _fitting(level, get_args(ThinkingLevel))]
    return [Suggestion(name) for name in names if typed.lower() in name.lower()]


def _fitting(typed: str, words: Sequence[str]) -> list[Suggestion]:
    return [Suggestion(word) for word in words if word.startswith(typed)]
