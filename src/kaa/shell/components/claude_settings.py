"""Reads settings of Claude Code, of the user and of a project: what they forbid, and what kaa does not use of them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kaa.builtin.amounts import counted, listed
from kaa.components.denied_tools import DenyRules, denials_in
from kaa.components.hooks.files import HookFileError, settings_object
from kaa.components.plugins.json_fields import line_of, mapping_of, texts_of
from kaa.core.messages import Json
from kaa.host.regular_files import beginning_of
from kaa.shell.components import Found, FoundFile, Place
from kaa.shell.components.finding import FileTree
from kaa.shell.components.part_files import MAX_BYTES, find_parts

FILE: Final = "~/.claude/settings.json"

_MOST_NAMED = 5
# By field: what does the same in kaa.
_INSTEAD: Final = {
    "additionalDirectories": "`kaa --add-dir DIR` adds directories",
    "allow": "`approvals.allow` in kaa's settings has rules of kaa's own",
    "ask": "kaa asks by its approval mode (docs/approvals.md)",
    "defaultMode": "`--approvals` sets the approval mode",
}
_INSTEAD_OF_OTHERS: Final = {
    "apiKeyHelper": "`apiKey` in models.json can be a command",
    "env": "kaa takes variables from the shell that starts it",
    "model": "`defaultModel` in kaa's settings, or /model, selects a model",
    "sandbox": "`sandbox` in kaa's settings configures its own sandbox",
    "outputStyle": "APPEND_SYSTEM.md in kaa's folder adds to its instructions",
    "statusLine": "kaa's footer shows no output of commands",
}

_READ_NOTE: Final = "commands can still read what a rule `read:` forbids; `sandbox.hidden` hides files from them, too"


class ClaudeSettings(msgspec.Struct, frozen=True):
    """What a file says.

    Attributes:
        denied: what it forbids, as rules of kaa.
        unused: what kaa does not take over of it, in sentences.
    """

    denied: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def claude_settings() -> ClaudeSettings:
    """The user's; nothing if there is no such file, or Claude Code could not read it either."""
    try:
        data = beginning_of(os.path.expanduser(FILE), MAX_BYTES + 1)
        return ClaudeSettings() if len(data) > MAX_BYTES else _settings_in(data, FILE)
    except (OSError, HookFileError):
        return ClaudeSettings()


async def find_denials(tree: FileTree, places: Sequence[Place], inside: str | None) -> Found:
    """What files in some places forbid; the path of each has `#permissions.deny`. Arguments as in `find_parts`."""
    found = await find_parts(tree, places, inside, _part, "deny rules")
    files: list[FoundFile] = []
    unused: list[str] = []
    for file in found.files:
        settings = msgspec.json.decode(file.data, type=ClaudeSettings)
        unused += settings.unused
        if settings.denied:
            data = msgspec.json.format(msgspec.json.encode(settings.denied), indent=2)  # in lines, for the difference
            where = "#permissions.deny"  # its own: trust is kept by paths
            files.append(FoundFile(file.path + where, file.name, data, file.place, file.real_path + where))
    return Found(tuple(files), found.notices, tuple(unused))


def rules_of(file: FoundFile) -> tuple[str, ...]:
    """The deny rules in a file that `find_denials` found."""
    return msgspec.json.decode(file.data, type=tuple[str, ...])


def lines_of(file: FoundFile) -> tuple[str, ...]:
    """The same for people, with what the rules do not cover."""
    rules = rules_of(file)
    return (*rules, *notes_on(rules))


def notes_on(rules: Sequence[str]) -> tuple[str, ...]:
    """What rules do not cover, for people."""
    return (_READ_NOTE,) if any(rule.partition(":")[0] == "read" for rule in rules) else ()


def _part(place: Place, data: bytes) -> bytes | None:
    settings = _settings_in(data, place.folder)
    return None if settings == ClaudeSettings() else msgspec.json.encode(settings)


def _settings_in(data: bytes, name: str) -> ClaudeSettings:
    """What a file says.

    Raises:
        HookFileError: it has no JSON object.
    """
    fields = settings_object(data)
    permissions = mapping_of(fields.get("permissions"))
    denials = denials_in(texts_of(permissions.get("deny")), _is_rule)
    return ClaudeSettings(denials.rules, tuple(_unused(fields, permissions, denials, name)))


def _is_rule(text: str) -> bool:
    from kaa.shell.approvals.rules import RuleError, parse_rule  # lazy: few have denials

    try:
        parse_rule(text, deny=True)
    except RuleError:
        return False
    return True


def _unused(
    fields: Mapping[str, Json], permissions: Mapping[str, Json], denials: DenyRules, file: str
) -> Iterator[str]:
    if left := denials.left:
        shown = listed([line_of(text, 80) for text in left], _MOST_NAMED)
        yield f"{file}: no rule of kaa forbids {shown}"
    if below := denials.of_project:
        shown = listed([line_of(text, 80) for text in below], _MOST_NAMED)
        yield f"{file}: {shown} counts below the project, as in Claude Code: absolute paths begin with `//`"
    for name, instead in _INSTEAD.items():
        if (value := permissions.get(name)) and value != "default":
            much = f" ({counted(len(value), 'entry', 'entries')})" if isinstance(value, list) else f" ({_short(value)})"
            yield f"{file}: `permissions.{name}`{much} is not used: {instead}"
    for name, instead in _INSTEAD_OF_OTHERS.items():
        if value := fields.get(name):
            shown = f" ({_short(value)})" if isinstance(value, str) and name != "apiKeyHelper" else ""
            yield f"{file}: `{name}`{shown} is not used: {instead}"


def _short(value: Json) -> str:
    return line_of(value, 80) if isinstance(value, str) else type(value).__name__
