"""What the slash commands do that choose the model, how hard it thinks, approvals, directories and settings."""

import os
from collections.abc import Mapping, Sequence
from typing import get_args

from kaa.builtin.picking import pick
from kaa.core.provider import Model, ThinkingLevel
from kaa.ext.api import CommandAction, CommandContext, Reply, Suggestion
from kaa.ext.choices import SettingScope, UserSetting
from kaa.ext.errors import CommandError

_UNCHANGED = Reply("nothing was changed")
_SCOPES: Mapping[str, SettingScope] = {
    "for all projects": "global",
    "for this project": "project",
    "for this session": "session",
}
_MOST_DIRECTORIES = 100  # more is no help to choose from


async def model(arguments: str, context: CommandContext) -> CommandAction:
    """Switch the model."""
    models = context.models
    query = arguments
    if not query:
        offered = {model.qualified_id: model_facts(model) for model in await models.offered()}
        query = await pick(context.asker, "Which model?", offered, "/model NAME", models.current.name) or ""
        if not query:
            return _UNCHANGED
    now = await models.switch(query)
    report = f"{now.name} is now the model"
    if not now.is_listed:
        report += "\nkaa does not know this model: it becomes the default of new sessions after its first reply"
    return Reply(report)


async def scoped_models(arguments: str, context: CommandContext) -> CommandAction:
    """Choose the models to cycle through."""
    models = context.models
    patterns = arguments.replace(",", " ").split()
    if patterns:
        await models.set_scoped([] if patterns == ["all"] else patterns, keep=True)
    scoped = [one.model.qualified_id + (f":{one.level}" if one.level else "") for one in models.scoped()]
    return Reply("\n".join(scoped) or "all models; /scoped-models PATTERNS restricts them")


async def thinking(arguments: str, context: CommandContext) -> CommandAction:
    """Choose the thinking level."""
    current = context.models.current
    levels: dict[str, str] = dict.fromkeys(current.levels, "")
    wanted = arguments or await pick(
        context.asker, "Which thinking level?", levels, "/thinking LEVEL", current.thinking
    )
    if not wanted:
        return _UNCHANGED
    level = context.models.think(wanted)
    if level == wanted:
        return Reply(f"thinking: {level}")
    if len(current.levels) < 2:
        return Reply(f"thinking: {level}, because {current.name} does not support thinking; other models use {wanted}")
    return Reply(
        f"thinking: {level}, because {current.name} does not support {wanted}; it supports {', '.join(current.levels)}"
    )


async def approvals(arguments: str, context: CommandContext) -> CommandAction:
    """Choose what needs approval."""
    approvals = context.approvals
    title = "Which tool calls need your approval?"
    policy = arguments or await pick(context.asker, title, approvals.policies, "/approvals MODE", approvals.policy)
    return Reply(f"approvals: {await approvals.choose(policy)}") if policy else _UNCHANGED


async def add_dir(arguments: str, context: CommandContext) -> CommandAction:
    """Let tools write another directory."""
    approvals = context.approvals
    if not arguments:
        heading = "tools can write:"
        if approvals.policy == "read-only":
            heading = "nothing is writable in the mode read-only; in the other modes tools can write:"
        return Reply(f"{heading}\n" + "\n".join(approvals.directories))
    return Reply(await approvals.add_directory(arguments))


def directories_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Directories of this machine: the user types them, so what the sandbox hides does not matter."""
    folder, slash, begun = typed.rpartition("/")
    top = os.path.join(context.workspace.root, os.path.expanduser(folder + slash))
    try:
        with os.scandir(top) as entries:
            names = sorted(entry.name for entry in entries if entry.name.startswith(begun) and entry.is_dir())
    except OSError:
        return []
    shown = [name for name in names if begun.startswith(".") or not name.startswith(".")]
    # The first is what Enter takes: the directory as it is typed.
    itself = [typed] if slash and not begun else []
    return [Suggestion(path) for path in [*itself, *(f"{folder}{slash}{name}/" for name in shown[:_MOST_DIRECTORIES])]]


async def trust(_arguments: str, context: CommandContext) -> CommandAction:
    """Show, decide or revoke trust in the project."""
    return Reply(await context.review_trust())


async def settings(arguments: str, context: CommandContext) -> CommandAction:
    """List settings, or change one."""
    scope, arguments = _scope(arguments)
    key, _, value = arguments.partition(" ")
    if value.strip():
        return await _set(key, value.strip(), scope, context)
    if scope:
        raise CommandError(f"give a setting and its value: /settings --{scope} KEY VALUE")
    listed = context.user_settings.listed()
    exact = next((one for one in listed if one.key == key), None)
    if exact is not None:
        return Reply(_described(exact))
    found = [one for one in listed if key.lower() in one.key.lower()]
    if not found:
        raise CommandError(f"there is no setting {key!r}: /settings lists all")
    width = max(len(one.key) for one in found)
    return Reply("\n".join(f"{one.key:<{width}}  {one.value}{_from(one)}" for one in found))


def _scope(arguments: str) -> tuple[SettingScope | None, str]:
    """For what a setting is, if a flag says it, and the rest."""
    first, _, rest = arguments.partition(" ")
    scope = next((scope for scope in _SCOPES.values() if first == f"--{scope}"), None)
    return (scope, rest.strip()) if scope else (None, arguments)


async def _set(key: str, value: str, scope: SettingScope | None, context: CommandContext) -> CommandAction:
    settings = context.user_settings
    scopes = next((one.scopes for one in settings.listed() if one.key == key), ())
    if scope is None and len(scopes) > 1 and context.asker.can_ask:
        settings.check(key, value)
        options = {text: "" for text, offered in _SCOPES.items() if offered in scopes}
        chosen = await pick(context.asker, f"Set {key} to {value}?", options, "/settings --project KEY VALUE")
        if chosen is None:
            return _UNCHANGED
        scope = _SCOPES[chosen]
    return Reply(await settings.set(key, value, scope or "global"))


def models_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Complete a model and its thinking level."""
    names = [model.qualified_id for model in context.models.available()]
    model, colon, level = typed.rpartition(":")
    if colon and model in names:
        return [Suggestion(f"{model}:{one.text}") for one in fitting(level, get_args(ThinkingLevel))]
    return [Suggestion(name) for name in names if typed.lower() in name.lower()]


def cycled_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Complete the last of several models."""
    before, space, last = typed.rpartition(" ")
    names = ("all", *(model.qualified_id for model in context.models.available()))
    return [Suggestion(before + space + name) for name in names if last.lower() in name.lower()]


def levels_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Complete a thinking level."""
    return fitting(typed, context.models.current.levels)


def policies_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Complete an approval mode."""
    policies = context.approvals.policies.items()
    return [Suggestion(name, meaning) for name, meaning in policies if name.startswith(typed)]


def fitting(typed: str, words: Sequence[str]) -> list[Suggestion]:
    """The words that begin as typed."""
    return [Suggestion(word) for word in words if word.startswith(typed)]


def model_facts(model: Model) -> str:
    """What helps to choose, and to search: people write "opus 4.5" where the id has a dash."""
    facts = [] if model.name.lower() in model.id.lower() else [model.name]
    facts.append(f"{model.context_window // 1000:,}k context")
    cost = model.cost
    facts.append("$? per million" if cost is None else f"${cost.input:g} in, ${cost.output:g} out per million")
    if model.reasoning:
        facts.append("thinks")
    if "image" in model.input:
        facts.append("sees images")
    return ", ".join(facts)


def _described(setting: UserSetting) -> str:
    lines = [f"{setting.key}  {setting.value}{_from(setting)}"]
    if setting.description:
        lines.append(setting.description)
    if setting.allowed:
        lines.append(f"Values: {', '.join(setting.allowed)}")
    return "\n".join(lines)


def _from(setting: UserSetting) -> str:
    return f"  ({setting.source})" if setting.source else ""


def settings_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Complete a setting and its value."""
    scope, rest = _scope(typed)
    before = f"--{scope} " if scope else ""
    key, space, value = rest.partition(" ")
    listed = context.user_settings.listed()
    if not space:
        fitting = [one for one in listed if key.lower() in one.key.lower()]
        return [Suggestion(f"{before}{one.key} ", one.description) for one in fitting]
    allowed = next((one.allowed for one in listed if one.key == key), ())
    return [Suggestion(f"{before}{key} {choice}") for choice in allowed if choice.startswith(value)]
