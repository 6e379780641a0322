"""The slash commands that choose the model, how hard it thinks, approvals, trust in the project, and settings."""

from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply, Suggestion


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command(
        "model",
        "Select the model",
        _model,
        argument_hint="[NAME[:LEVEL]]",
        complete=_models,
        while_running=True,
    )
    api.register_command(
        "scoped-models",
        "Show or select the models to cycle through",
        _scoped_models,
        argument_hint="[PATTERNS|all]",
        complete=_cycled,
        while_running=True,
    )
    api.register_command(
        "thinking",
        "Select the thinking level",
        _thinking,
        argument_hint="[LEVEL]",
        complete=lambda typed, context: [
            Suggestion(level) for level in context.models.current.levels if level.startswith(typed)
        ],
        while_running=True,
    )
    api.register_command(
        "approvals",
        "Select what tools can do and which calls need your approval",
        _approvals,
        argument_hint="[MODE]",
        complete=lambda typed, context: [
            Suggestion(name, meaning) for name, meaning in context.approvals.policies.items() if name.startswith(typed)
        ],
        while_running=True,
    )
    api.register_command(
        "add-dir",
        "Let tools write another directory, or list those they can write",
        _add_dir,
        argument_hint="[DIR]",
        complete=_directories,
        while_running=True,
    )
    api.register_command(
        "settings",
        "List the settings, or change one",
        _settings,
        argument_hint="[--global|--project|--session] [KEY [VALUE]]",
        complete=_settings_and_values,
        while_running=True,
    )
    api.register_command(
        "trust", "Show, decide or revoke trust in the project's files", _trust, argument_hint=None, while_running=True
    )


async def _model(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.choosing import model  # lazy, as in the others: it is used seldom

    return await model(arguments, context)


async def _scoped_models(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.choosing import scoped_models

    return await scoped_models(arguments, context)


async def _thinking(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.choosing import thinking

    return await thinking(arguments, context)


async def _approvals(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.choosing import approvals

    return await approvals(arguments, context)


async def _add_dir(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.choosing import add_dir

    return await add_dir(arguments, context)


async def _trust(_arguments: str, context: CommandContext) -> CommandAction:
    return Reply(await context.review_trust())


async def _settings(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.choosing import settings

    return await settings(arguments, context)


def _models(typed: str, context: CommandContext) -> list[Suggestion]:
    from kaa.builtin.choosing import models_completed

    return models_completed(typed, context)


def _cycled(typed: str, context: CommandContext) -> list[Suggestion]:
    from kaa.builtin.choosing import cycled_completed

    return cycled_completed(typed, context)


def _directories(typed: str, context: CommandContext) -> list[Suggestion]:
    from kaa.builtin.choosing import directories_completed

    return directories_completed(typed, context)


def _settings_and_values(typed: str, context: CommandContext) -> list[Suggestion]:
    from kaa.builtin.choosing import settings_completed

    return settings_completed(typed, context)
