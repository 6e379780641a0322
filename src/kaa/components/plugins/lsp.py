"""Language servers, as `.lsp.json` and plugins of Claude Code and the setting `lsp` of opencode define them.

Sources, 2026: "LSP servers" in the plugin reference of Claude Code, and https://opencode.ai/config.json (`lsp`).
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from kaa.components.plugins.json_fields import MAX_NAME, line_of, mapping_of, quoted
from kaa.core.messages import Json

_MAX_SERVERS = 200
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_EXTENSION = re.compile(r"[^\s/\\\x00-\x1f]{1,32}")
_CLAUDE = frozenset(
    {
        *("command", "args", "env", "extensionToLanguage", "initializationOptions", "settings", "workspaceFolder"),
        *("transport", "startupTimeout", "shutdownTimeout", "restartOnCrash", "maxRestarts", "diagnostics"),
    }
)
_OPENCODE = frozenset({"command", "extensions", "disabled", "env", "initialization"})


class LanguageServer(msgspec.Struct, frozen=True):
    """A language server that talks on its standard input and output.

    Attributes:
        command: the program and its arguments.
        languages: the identifier of the language, by the end of a file's name (`.py`); empty if the definition only has
            the ends.
        environment: what is added to that of kaa.
        initialization: `initializationOptions` of the request `initialize`.
        settings: for `workspace/didChangeConfiguration`.
        workspace_folder: the root of the workspace; empty for that of the project.
        startup_seconds: how long it may take to start; None if the definition does not say.
        shutdown_seconds: how long it may take to end; None if the definition does not say.
        restarts: it is started again after a crash.
        max_restarts: None if the definition does not say.
        diagnostics: the model gets its diagnostics after edits.
        enabled: otherwise this turns off a server of that name.
    """

    name: str
    command: tuple[str, ...]
    languages: dict[str, str] = {}
    environment: dict[str, str] = {}
    initialization: Json = None
    settings: Json = None
    workspace_folder: str = ""
    startup_seconds: float | None = None
    shutdown_seconds: float | None = None
    restarts: bool = True
    max_restarts: int | None = None
    diagnostics: bool = True
    enabled: bool = True


class LanguageServers(msgspec.Struct, frozen=True):
    """The servers of a file; `notes`: what is not used or understood, in sentences without their ends."""

    servers: tuple[LanguageServer, ...] = ()
    notes: tuple[str, ...] = ()


def claude_servers(content: Mapping[str, Json]) -> LanguageServers:
    """The servers in `.lsp.json` or in `lspServers`, by name."""
    return _servers(content, _claude_server)


def opencode_servers(value: Json) -> LanguageServers:
    """The servers in the setting `lsp`. `true` and `false` concern those that opencode brings and kaa does not."""
    if isinstance(value, dict):
        return _servers(value, _opencode_server)
    return (
        LanguageServers() if value is None or isinstance(value, bool) else LanguageServers((), ("`lsp` is no object",))
    )


def servers_in(content: Mapping[str, Json]) -> LanguageServers:
    """The servers in kaa's setting `lsp`: each as either of the others would have it, by its `command`."""

    def read(name: str, fields: dict[str, Json], remarks: list[str]) -> LanguageServer:
        is_claude = isinstance(fields.get("command"), str)
        return (_claude_server if is_claude else _opencode_server)(name, fields, remarks)

    return _servers(content, read)


class _InvalidError(ValueError):
    """A definition cannot be used; the message is the end of a sentence."""


_Read: TypeAlias = Callable[[str, dict[str, Json], list[str]], LanguageServer]


def _servers(content: Mapping[str, Json], read: _Read) -> LanguageServers:
    servers: list[LanguageServer] = []
    notes: list[str] = []
    for name, value in list(content.items())[:_MAX_SERVERS]:
        try:
            if not _NAME.fullmatch(name):
                raise _InvalidError("its name may have letters, digits, `.`, `_` and `-`")
            if not isinstance(value, dict):
                raise _InvalidError("it is not an object")
            remarks: list[str] = []
            servers.append(read(name, value, remarks))
            notes += [f"language server {quoted(name)}: {remark}" for remark in remarks]
        except _InvalidError as error:
            notes.append(f"language server {quoted(name)} is left out: {error}")
    if len(content) > _MAX_SERVERS:
        notes.append(f"only the first {_MAX_SERVERS} language servers are used")
    return LanguageServers(tuple(servers), tuple(notes))


def _claude_server(name: str, fields: dict[str, Json], remarks: list[str]) -> LanguageServer:
    program = fields.get("command")
    if not isinstance(program, str) or not program.strip():
        raise _InvalidError("it has no `command`")
    if fields.get("transport", "stdio") != "stdio":
        remarks.append("its transport is not supported, standard input and output are used")
    languages = {
        end: language
        for end, language in mapping_of(fields.get("extensionToLanguage")).items()
        if _EXTENSION.fullmatch(end) and isinstance(language, str) and line_of(language) == language
    }
    if not languages:
        raise _InvalidError("`extensionToLanguage` names no language")
    remarks += [f"{quoted(field)} is unknown" for field in fields if field not in _CLAUDE]
    restarts = fields.get("maxRestarts")
    return LanguageServer(
        name,
        (program, *_texts(fields, "args")),
        languages,
        _environment(fields),
        initialization=fields.get("initializationOptions"),
        settings=fields.get("settings"),
        workspace_folder=line_of(fields.get("workspaceFolder")),
        startup_seconds=_seconds(fields, "startupTimeout", remarks),
        shutdown_seconds=_seconds(fields, "shutdownTimeout", remarks),
        restarts=fields.get("restartOnCrash") is not False,
        max_restarts=restarts if type(restarts) is int and 0 <= restarts <= 1000 else None,
        diagnostics=fields.get("diagnostics") is not False,
    )


def _opencode_server(name: str, fields: dict[str, Json], remarks: list[str]) -> LanguageServer:
    enabled = fields.get("disabled") is not True
    command = tuple(_texts(fields, "command"))
    if enabled and not command:
        raise _InvalidError("it has no `command`")
    remarks += [f"{quoted(field)} is unknown" for field in fields if field not in _OPENCODE]
    return LanguageServer(
        name,
        command,
        {end: "" for end in _texts(fields, "extensions") if _EXTENSION.fullmatch(end)},
        _environment(fields),
        initialization=fields.get("initialization"),
        enabled=enabled,
    )


def _texts(fields: Mapping[str, Json], field: str) -> list[str]:
    values = fields.get(field, [])
    if not isinstance(values, list) or not all(isinstance(one, str) and "\0" not in one for one in values):
        raise _InvalidError(f"`{field}` is not a list of texts")
    return [one for one in values if isinstance(one, str)]


def _environment(fields: Mapping[str, Json]) -> dict[str, str]:
    values = fields.get("env", {})
    if not isinstance(values, dict):
        raise _InvalidError("`env` is not an object")
    kept = {name: value for name, value in values.items() if isinstance(value, str)}
    if len(kept) < len(values) or any(
        "\0" in text or "=" in name for name, text in kept.items() for text in (name, text)
    ):
        raise _InvalidError("`env` may have texts only")
    return kept


def _seconds(fields: Mapping[str, Json], field: str, remarks: list[str]) -> float | None:
    """A time that is given in milliseconds."""
    value = fields.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3_600_000:
        remarks.append(f"`{field}` must be a number of milliseconds, at most an hour")
        return None
    return value / 1000
