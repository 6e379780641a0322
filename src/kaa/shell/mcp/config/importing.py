"""Finds the servers in other agents' files of the user's, made into entries of kaa's. Nothing of them is started.

Sources, 2026: the documentation of Claude Code (`~/.claude.json`), Codex (`~/.codex/config.toml`), Gemini CLI
(`~/.gemini/settings.json`), Cursor (`~/.cursor/mcp.json`), VS Code (`~/.config/Code/User/mcp.json`) and opencode
(`~/.config/opencode/opencode.json`).
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from kaa.core.messages import Json
from kaa.host.regular_files import read_regular
from kaa.shell.mcp.config.codex import translated_codex
from kaa.shell.mcp.config.dialects import ConfigFieldError, translated
from kaa.shell.mcp.config.entry import Source
from kaa.shell.mcp.config.reading import alike, server_of
from kaa.shell.user_file import UserFileError, read_json, wrong_encoding

_SECRET = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)
_PASSWORD = re.compile(r"[a-z]+://[^/@]*:[^/@]*@", re.IGNORECASE)
_SCHEME = re.compile(r"(bearer|basic)\s", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 40
_REFERENCE = re.compile(r"\$\{[^}]+\}")


class ImportedServersError(Exception):
    """The servers of an agent cannot be read; the message says why."""


class ImportedServer(msgspec.Struct, frozen=True):
    """A server of another agent.

    Attributes:
        fields: its entry, as kaa writes it.
        remarks: what was changed or not understood, in sentences.
    """

    name: str
    fields: dict[str, Json]
    file: str
    remarks: tuple[str, ...] = ()


class ImportedServers(msgspec.Struct, frozen=True):
    """What was found, and what cannot be used, in sentences."""

    servers: tuple[ImportedServer, ...] = ()
    problems: tuple[str, ...] = ()


def imported(agent: str, home: Path, project: str) -> ImportedServers:
    """The servers that an agent has for the user.

    Args:
        agent: one of `AGENTS`.
        project: the directory of the project, which Claude Code has servers for.

    Raises:
        ImportedServersError: its file cannot be read.
    """
    found: list[ImportedServer] = []
    problems: list[str] = []
    taken: dict[str, dict[str, Json]] = {}
    for file, entries, translate in AGENTS[agent](home, project):
        for given, fields in entries.items():
            try:
                if not isinstance(fields, dict):
                    raise ConfigFieldError("it is not an object")
                own, remarks = translate(fields)
                if own.pop("sandbox", None) is not None:
                    remarks = (*remarks, "`sandbox` is ignored: write it into kaa's file yourself")
                name = _free(_NOT_IN_NAMES.sub("-", given)[:_MAX_NAME], own, taken)
                renamed = () if name == given else (f"{given[:80]!r} is its name there",)
                found.append(_checked(name, own, file, (*renamed, *remarks)))
                taken[alike(name)] = own
            except ValueError as error:
                problems.append(f"MCP server {given[:80]} in {file} is left out: {error}")
    return ImportedServers(tuple(found), tuple(problems))


def _free(name: str, fields: dict[str, Json], taken: Mapping[str, dict[str, Json]]) -> str:
    """The name, with a number if another server has one like it.

    Raises:
        ConfigFieldError: that one is the same server.
    """
    free, number = name, 1
    while (other := taken.get(alike(free))) is not None:
        if other == fields:
            raise ConfigFieldError("another server with a name like this is the same")
        number += 1
        free = f"{name[: _MAX_NAME - 4]}-{number}"
    return free


def _checked(name: str, fields: dict[str, Json], file: str, remarks: tuple[str, ...]) -> ImportedServer:
    fields, hidden = _without_secrets(name, fields)
    server = server_of(name, fields, Source(file, "user"), "kaa")
    return ImportedServer(name, fields, file, (*remarks, *hidden, *server.ignored))


def _without_secrets(name: str, fields: dict[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The fields with references where keys stand in the clear: a copy would be one more place to lose them.

    Raises:
        ConfigFieldError: its URL has a password.
    """
    remarks: list[str] = []
    changed = dict(fields)
    if isinstance(url := fields.get("url"), str) and _PASSWORD.match(url):
        raise ConfigFieldError("its URL has a password: use `headers` with a variable")
    for field in ("env", "headers"):
        values = fields.get(field)
        if not isinstance(values, dict):
            continue
        kept = dict(values)
        for key, value in values.items():
            if isinstance(value, str) and value and _is_secret(key, value):
                variable = key if field == "env" else re.sub(r"\W", "_", f"{name}_{key}").upper()
                kept[key] = f"${{{variable}}}"
                remarks.append(f"`{field}.{key}` has a secret, which is not copied: set the variable {variable} to it")
        changed[field] = kept
    arguments = fields.get("args")
    words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else []
    if any(word.startswith("-") and _SECRET.search(word) for word in words):
        remarks.append("`args` may have a secret, which is copied: use a variable, such as ${TOKEN}")
    if isinstance(url, str) and _SECRET.search(url.partition("?")[2]):
        remarks.append("`url` may have a secret, which is copied: use a variable, such as ${TOKEN}")
    return changed, tuple(remarks)


def _is_secret(key: str, value: str) -> bool:
    return not _REFERENCE.search(value) and bool(_SECRET.search(key) or _SCHEME.match(value))


_Translate = Callable[[Mapping[str, Json]], tuple[dict[str, Json], tuple[str, ...]]]
_Found = list[tuple[str, dict[str, Json], _Translate]]
_as_claude: _Translate = partial(translated, dialect="claude")


def _claude(home: Path, project: str) -> _Found:
    file = home / ".claude.json"
    content = _json(file)
    projects = content.get("projects")
    mine = projects.get(project) if isinstance(projects, dict) else None
    here = _servers(mine if isinstance(mine, dict) else {}, "mcpServers")

    def of_project(fields: Mapping[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
        own, remarks = translated(fields, "claude")
        return own, (*remarks, f"Claude Code uses it in {project} only, kaa everywhere")

    return [(str(file), _servers(content, "mcpServers"), _as_claude), (str(file), here, of_project)]


def _gemini(home: Path, _: str) -> _Found:
    def translate(fields: Mapping[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
        own = dict(fields)
        if "httpUrl" in own:
            own |= {"url": own.pop("httpUrl"), "type": "http"}
        elif "url" in own and "type" not in own:
            own["type"] = "sse"
        if "includeTools" in own:
            own["tools"] = own.pop("includeTools")
        remarks = ("`trust` is ignored: kaa asks as its own settings say",) if own.get("trust") else ()
        known, ignored = translated(own, "claude")
        return known, (*ignored, *remarks)

    return _found(home / ".gemini" / "settings.json", "mcpServers", translate)


def _codex(home: Path, _: str) -> _Found:
    file = home / ".codex" / "config.toml"
    try:
        content = tomllib.loads(read_regular(file).decode("utf-8-sig"))
    except FileNotFoundError:
        content = {}
    except UnicodeDecodeError as error:
        raise ImportedServersError(f"{file} cannot be read: {wrong_encoding(error)}") from error
    except (OSError, ValueError) as error:
        raise ImportedServersError(f"{file} cannot be read: {error}") from error

    return [(str(file), _servers(content, "mcp_servers"), translated_codex)]


def _opencode(home: Path, _: str) -> _Found:
    def translate(fields: Mapping[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
        own = dict(fields)
        if isinstance(command := own.get("command"), list) and command:
            own |= {"command": command[0], "args": command[1:]}
        if "environment" in own:
            own["env"] = own.pop("environment")
        if own.get("type") == "remote":
            del own["type"]
        return translated(own, "claude")

    folder = home / ".config" / "opencode"
    return [one for name in ("opencode.json", "opencode.jsonc") for one in _found(folder / name, "mcp", translate)]


AGENTS: Mapping[str, Callable[[Path, str], _Found]] = {
    "claude": _claude,
    "codex": _codex,
    "cursor": lambda home, _: _found(home / ".cursor" / "mcp.json", "mcpServers"),
    "gemini": _gemini,
    "opencode": _opencode,
    "vscode": lambda home, _: _found(home / ".config" / "Code" / "User" / "mcp.json", "servers"),
}
"""The agents whose servers can be imported, by name."""


def _found(file: Path, field: str, translate: _Translate = _as_claude) -> _Found:
    return [(str(file), _servers(_json(file), field), translate)]


def _json(file: Path) -> dict[str, Json]:
    try:
        content = read_json(str(file))
    except UserFileError as error:
        raise ImportedServersError(str(error)) from error
    return content if isinstance(content, dict) else {}


def _servers(content: Mapping[str, Json], field: str) -> dict[str, Json]:
    servers = content.get(field)
    return servers if isinstance(servers, dict) else {}
