"""The built-in slash commands that only commands need: their names, and where the code of each is.

It is loaded when somebody uses the command, or completes its arguments.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kaa.builtin.step_options import STEP_OPTIONS
from kaa.core.budget import BUDGET_SCOPES, MEASURE_WORDS
from kaa.ext.api import CommandAction, CommandCompleter, CommandContext, ExtensionAPI, Suggestion
from kaa.ext.commands import CommandHandler, Suggestions

SHARE_FLAGS = ("--all-branches", "--one-branch", "--no-thinking", "--no-tools", "--yes")
EXPORT_FLAGS = ("--all-branches", "--one-branch", "--no-thinking", "--no-tools", "--redact", "--force")


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    _register_general(api)
    _register_work(api)
    _register_choices(api)
    _register_usage(api)
    _register_sessions(api)
    _register_sharing(api)


def _register_general(api: ExtensionAPI) -> None:
    api.register_command(
        "help",
        "Show the keys and commands, or those about a WORD",
        _handler("commands:show_help"),
        argument_hint="[WORD]",
        while_running=True,
    )
    api.register_command(
        "session",
        "Show the session's file, id, name, messages, tokens and cost",
        _handler("commands:session"),
        argument_hint=None,
        while_running=True,
    )
    api.register_command(
        "sandbox",
        "Show how commands are confined",
        _handler("commands:sandbox"),
        argument_hint=None,
        while_running=True,
    )
    api.register_command(
        "net",
        "Show or change the hosts that commands can reach",
        _handler("commands:net"),
        argument_hint="[off|on|registries|HOSTS]",
        complete=_among("off", "on", "registries"),
        while_running=True,
    )
    api.register_command(
        "forward",
        "Open a port of a command on this machine",
        _handler("port_commands:forward"),
        argument_hint="PORT [PORT HERE]",
        while_running=True,
    )
    api.register_command(
        "allow",
        "Let commands reach a port or a unix socket of this machine",
        _handler("port_commands:allow"),
        argument_hint="PORT|SOCKET",
        while_running=True,
    )
    api.register_command(
        "ports",
        "List open ports and services, or close one",
        _handler("port_commands:ports"),
        argument_hint="[close PORT]",
        while_running=True,
    )
    api.register_command(
        "reload",
        "Read settings, rules, models, keys and changed extensions again",
        _handler("commands:reload"),
        argument_hint=None,
        while_running=True,
    )
    api.register_command(
        "name",
        "Show or set the session's name; --suggest asks the model, --clear removes it",
        _handler("commands:name"),
        argument_hint="[TEXT|--suggest|--clear]",
        complete=_flags("--suggest", "--clear"),
        while_running=True,
    )


def _register_work(api: ExtensionAPI) -> None:
    api.register_command(
        "undo",
        "Undo your last message and its changes to files",
        _handler("commands:undo"),
        argument_hint="[--all|--conversation]",
        complete=_among(*STEP_OPTIONS["undo"]),
    )
    api.register_command(
        "redo",
        "Redo what /undo reverted",
        _handler("commands:redo"),
        argument_hint="[--conversation]",
        complete=_among(*STEP_OPTIONS["redo"]),
    )
    api.register_command(
        "diff",
        "Show what this session changed, by file",
        _handler("diff_command:diff"),
        argument_hint="[PATH]",
        while_running=True,
    )
    api.register_command(
        "review",
        "Have the model review changes, without changing files",
        _handler("review_command:review"),
        argument_hint="[uncommitted|branch NAME|commit SHA]",
        complete=_completer("review_command:reviewable"),
    )
    api.register_command(
        "init",
        "Have the model propose a short AGENTS.md, or improve the one there is",
        _handler("init_command:initialize"),
        argument_hint="[TEXT]",
    )
    api.register_command(
        "label",
        "Label the last entry, to find it in the tree",
        _handler("commands:label"),
        argument_hint="[NAME]",
        while_running=True,
    )
    api.register_command(
        "compact",
        "Compact the conversation; TEXT is an instruction for the summary",
        _handler("commands:compact"),
        argument_hint="[TEXT]",
    )
    api.register_command(
        "uncompact", "Undo the last compaction on this branch", _handler("commands:uncompact"), argument_hint=None
    )


def _register_choices(api: ExtensionAPI) -> None:
    api.register_command(
        "model",
        "Select the model",
        _handler("choosing:model"),
        argument_hint="[NAME[:LEVEL]]",
        complete=_completer("choosing:models_completed"),
        while_running=True,
    )
    api.register_command(
        "scoped-models",
        "Show or select the models to cycle through",
        _handler("choosing:scoped_models"),
        argument_hint="[PATTERNS|all]",
        complete=_completer("choosing:cycled_completed"),
        while_running=True,
    )
    api.register_command(
        "thinking",
        "Select the thinking level",
        _handler("choosing:thinking"),
        argument_hint="[LEVEL]",
        complete=_completer("choosing:levels_completed"),
        while_running=True,
    )
    api.register_command(
        "approvals",
        "Select what tools can do and which calls need your approval",
        _handler("choosing:approvals"),
        argument_hint="[MODE]",
        complete=_completer("choosing:policies_completed"),
        while_running=True,
    )
    api.register_command(
        "add-dir",
        "Let tools write another directory, or list those they can write",
        _handler("choosing:add_dir"),
        argument_hint="[DIR]",
        complete=_completer("choosing:directories_completed"),
        while_running=True,
    )
    api.register_command(
        "settings",
        "List the settings, or change one",
        _handler("choosing:settings"),
        argument_hint="[--global|--project|--session] [KEY [VALUE]]",
        complete=_completer("choosing:settings_completed"),
        while_running=True,
    )
    api.register_command(
        "trust",
        "Show, decide or revoke trust in the project's files",
        _handler("choosing:trust"),
        argument_hint=None,
        while_running=True,
    )


def _register_usage(api: ExtensionAPI) -> None:
    api.register_command(
        "context",
        "Show the use of the context window",
        _handler("usage_tables:context_report"),
        argument_hint=None,
        while_running=True,
    )
    api.register_command(
        "cost",
        "Show the tokens and cost of the session; misses: the causes of cache misses",
        _handler("usage_tables:cost_report"),
        argument_hint="[misses]",
        complete=_among("misses"),
        while_running=True,
    )
    api.register_command(
        "extensions",
        "List the extensions with their costs, or switch one for this run of kaa",
        _handler("extensions_command:extensions"),
        argument_hint="[enable NAME|disable NAME]",
        complete=_completer("extensions_command:names_completed"),
        while_running=True,
    )
    api.register_command(
        "budget",
        "Show or change the limits of a run or the session",
        _handler("budget_command:budget"),
        argument_hint="[run|session cost|tokens|turns|time AMOUNT|off]",
        complete=_among(*(f"{scope} {word} " for scope in BUDGET_SCOPES for word in MEASURE_WORDS)),
        while_running=True,
    )


def _register_sessions(api: ExtensionAPI) -> None:
    api.register_command(
        "new", "Start a new session", _handler("session_commands:new"), argument_hint=None, while_running=True
    )
    api.register_command(
        "resume",
        "Continue with another session",
        _handler("session_commands:resume"),
        argument_hint="[ID|TITLE|PATH]",
        while_running=True,
    )
    api.register_command(
        "search",
        "Find a text in all sessions",
        _handler("session_commands:search"),
        argument_hint="TEXT",
        while_running=True,
    )
    api.register_command(
        "clone",
        "Continue in a copy of the session",
        _handler("session_commands:clone"),
        argument_hint=None,
        while_running=True,
    )
    api.register_command(
        "fork",
        "Copy the session up to before one of your messages",
        _handler("session_commands:fork"),
        argument_hint="[ENTRY]",
        complete=_completer("session_commands:messages_completed"),
        while_running=True,
    )
    api.register_command(
        "rewind",
        "Return to before one of your messages, with its files",
        _handler("session_commands:rewind"),
        argument_hint="[ENTRY] [--conversation]",
        complete=_completer("session_commands:messages_completed"),
    )
    api.register_command(
        "tree",
        "Show the session's tree, or continue from an entry",
        _handler("session_commands:tree"),
        argument_hint="[ENTRY] [--files]",
        complete=_flags("--files"),
        while_running=True,
    )


def _register_sharing(api: ExtensionAPI) -> None:
    api.register_command(
        "export",
        "Export the session to a file",
        _handler("sharing_commands:export"),
        argument_hint="[PATH.html|.md|.jsonl] [--all-branches|--one-branch] [--no-thinking] [--no-tools] [--redact] "
        "[--force]",
        complete=_flags(*EXPORT_FLAGS),
        while_running=True,
    )
    api.register_command(
        "import",
        "Import a session file and continue with it",
        _handler("sharing_commands:import_file"),
        argument_hint="PATH",
    )
    api.register_command(
        "share",
        "Upload the session as a secret gist, after a preview",
        _handler("sharing_commands:share"),
        argument_hint="[--all-branches|--one-branch] [--no-thinking] [--no-tools] [--yes]",
        complete=_flags(*SHARE_FLAGS),
        while_running=True,
    )


def _handler(place: str) -> CommandHandler:
    """Run `module:function` of `kaa.builtin`."""

    async def run(arguments: str, context: CommandContext) -> CommandAction | str | None:
        handler: CommandHandler = _found(place)
        return await handler(arguments, context)

    return run


def _completer(place: str) -> CommandCompleter:
    """Complete by `module:function` of `kaa.builtin`, which returns at once."""

    def complete(typed: str, context: CommandContext) -> Suggestions:
        completer: Callable[[str, CommandContext], Suggestions] = _found(place)
        return completer(typed, context)

    return complete


def _found(place: str) -> Any:  # the callers know what is at the place
    module, _, function = place.partition(":")
    return getattr(import_module(f"kaa.builtin.{module}"), function)


def _among(*words: str) -> CommandCompleter:
    """Complete one of some words."""

    def complete(typed: str, _context: CommandContext) -> Suggestions:
        return [Suggestion(word) for word in words if word.startswith(typed)]

    return complete


def _flags(*known: str) -> CommandCompleter:
    """Complete the last word if it begins a flag."""

    def complete(typed: str, _context: CommandContext) -> Suggestions:
        before, space, last = typed.rpartition(" ")
        return [Suggestion(before + space + flag) for flag in known if last and flag.startswith(last)]

    return complete
