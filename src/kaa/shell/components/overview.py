"""Everything that was found for a project, of all agents, used or not: for `kaa import`.

kaa installs the user's plugins of Claude Code again, and uses no files of others. `~/.claude/plugins` has
`installed_plugins.json` (versions 1 and 2) and `known_marketplaces.json`, as Claude Code 2.1 writes them.
"""

import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.components.plugins.json_fields import MAX_BYTES, InvalidJsonError, line_of, mapping_of, object_in
from kaa.core.messages import Json
from kaa.host.regular_files import beginning_of, read_regular
from kaa.shell.components import (
    FOREIGN_AGENTS,
    USER_INSTRUCTIONS,
    ForeignAgent,
    FoundFile,
    Kind,
    Place,
    enabled_plugins,
    user_agent_settings,
    user_hook_places,
    user_lsp_places,
    user_places,
)
from kaa.shell.components.agent_settings import find_agent_settings
from kaa.shell.components.finding import UserTree, find
from kaa.shell.components.foreign_code import foreign_code
from kaa.shell.components.hook_files import find_hooks
from kaa.shell.components.known_fields import KnownFields
from kaa.shell.components.lsp_files import find_lsp
from kaa.shell.components.reading import Candidate, FoundComponent, State, components_in
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import ApprovalRecordsError, Approvals
from kaa.shell.mcp.config.reading import configured
from kaa.shell.plugins.records import PluginRecords
from kaa.shell.plugins.wheels import wheels_with_plugins
from kaa.shell.project_files import server_files
from kaa.shell.safety import SandboxFlags, start_workspace
from kaa.shell.settings import load_user_settings
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.instructions import CONTEXT_NAMES
from kaa.shell.trust.nested import nested_names
from kaa.shell.trust.store import Changed, TrustStore
from kaa.shell.trust.verdict import TrustVerdict, judge

_FOLDER = "~/.claude/plugins"
_MOST_NAMED = 50
_MAX_NAME = 200


class Overview(NamedTuple):
    """What was found. `notices`: what was left out, in sentences; `unused`: settings of the project, likewise."""

    components: list[FoundComponent]
    notices: tuple[str, ...]
    unused: tuple[str, ...]


async def overview(directory: str, home: Home, environ: Mapping[str, str]) -> Overview:
    """What a directory and the user's home have.

    Args:
        directory: absolute.

    Raises:
        SettingsError: the user's settings have a mistake.
        TrustError: earlier decisions about the project cannot be read.
        OSError: the directory cannot be opened.
    """
    settings = load_user_settings(home.settings, directory)
    workspace = start_workspace(directory, SandboxFlags(only_surveys=True), home, environ)
    try:
        project = await survey(workspace, home, await nested_names(workspace))
    finally:
        await workspace.close()
    own = await find(UserTree(), user_places(home.path, FOREIGN_AGENTS, settings.skills, settings.prompts), None)
    hooks = await find_hooks(UserTree(), user_hook_places(home.path, FOREIGN_AGENTS), None)
    language_servers = await find_lsp(UserTree(), user_lsp_places(FOREIGN_AGENTS), None)
    agents = await find_agent_settings(UserTree(), user_agent_settings(FOREIGN_AGENTS), None)
    code = await foreign_code(UserTree(), user_agent_settings(FOREIGN_AGENTS), None, of_user=True)
    candidates = _of_project(project, home)
    for file in (*own.files, *agents.files, *hooks.files, *language_servers.files):
        agent = file.place.agent
        is_wanted = agent not in FOREIGN_AGENTS or agent in settings.use_files_of
        obstacle = "" if is_wanted else f"you have not asked for it: `kaa import {agent}` uses the files of {agent}"
        candidates.append(Candidate(file, False, obstacle))
    problems: list[str] = []
    if (plugins := enabled_plugins(home, problems.append)) is not None:
        candidates += [Candidate(file, False, plugin=name) for name, file in plugins.files(directory, problems.append)]
    problems += [
        f"The package {wheel.name} {wheel.version} of this project brings a plugin: kaa plugin install"
        f" wheel:{wheel.name} shows it, and asks"
        for wheel in wheels_with_plugins(Path(directory))
    ]
    problems += plugins_elsewhere(directory, () if plugins is None else PluginRecords(home).read().plugins)
    fields = KnownFields(home.cache)
    components = components_in(candidates, settings.excluded, fields)
    fields.keep()
    verdict = judge("stored", project, home)
    components += [
        *_instructions_of(project, verdict),
        *_instructions_of_user(home, settings.use_files_of),
        *_servers(home, project, verdict),
    ]
    return Overview(
        components,
        (
            *project.components.notices,
            *own.notices,
            *agents.notices,
            *hooks.notices,
            *language_servers.notices,
            *code,
            *problems,
        ),
        project.components.unused,
    )


def _of_project(project: ProjectConfiguration, home: Home) -> list[Candidate]:
    used = judge("stored", project, home).components
    state = TrustStore(home).state(project)
    changed = state.difference.changed if isinstance(state, Changed) else ()
    candidates: list[Candidate] = []
    for file in project.components.files:
        reason = "it has changed since you trusted it" if file.path in changed else "you have not trusted it"
        candidates.append(Candidate(file, True, "" if file.path in used else f"{reason}: /trust in the terminal asks"))
    return candidates


def _instructions_of(project: ProjectConfiguration, verdict: TrustVerdict) -> Iterator[FoundComponent]:
    """The instructions and rules of a project, of folders above it and in it."""
    for file in (*project.instructions, *project.nested):
        kind: Kind = "rule" if file.rule else "instructions"
        reason = file.problem
        if not reason and file.path not in verdict.instructions:
            reason = "you have not trusted it, so that it only informs the model: /trust in the terminal asks"
        yield _text(file.path, file.name, kind, file.data, reason, is_of_project=True)


def _instructions_of_user(home: Home, wanted: Sequence[ForeignAgent]) -> Iterator[FoundComponent]:
    """The user's instructions for all projects: kaa's, and those for other agents."""
    own = [str(home.path / name) for name in CONTEXT_NAMES]
    for path in [path for path in own if os.path.isfile(path)][:1]:
        yield from _of_user(path, "")
    for agent, path in USER_INSTRUCTIONS.items():
        obstacle = f"you have not asked for it: `kaa import {agent}` uses the files of {agent}"
        yield from _of_user(os.path.expanduser(path), "" if agent in wanted else obstacle)


def _servers(home: Home, project: ProjectConfiguration, verdict: TrustVerdict) -> Iterator[FoundComponent]:
    """The configured MCP servers: the user's, those of plugins and definitions, and the trusted ones of the project."""
    approvals = Approvals(home)
    for server in configured(home, project.root, server_files(project, verdict)).servers:
        reason = "" if server.entry.enabled else "it is switched off"
        with suppress(ApprovalRecordsError):  # which `kaa mcp` reports
            if not reason and not approvals.is_approved(server):
                reason = f"you have not approved it: `kaa mcp approve {server.name}` shows it and asks"
        runs = server.entry.url or " ".join((server.entry.command, *server.entry.args))
        place = Place(server.source.file, "MCP server", "kaa")
        file = FoundFile(server.source.file, server.name, msgspec.json.encode(server.entry), place, "")
        candidate = Candidate(file, server.source.scope == "project", reason)
        state: State = "not wanted" if reason else "used"
        yield FoundComponent(candidate, server.name, None, state, reason, (runs, *server.ignored))


def _of_user(path: str, obstacle: str) -> Iterator[FoundComponent]:
    with suppress(OSError):
        yield _text(path, path, "instructions", read_regular(path), obstacle, is_of_project=False)


def _text(path: str, name: str, kind: Kind, data: bytes, reason: str, *, is_of_project: bool) -> FoundComponent:
    file = FoundFile(path, name, data, Place(os.path.dirname(path), kind, "kaa"), path)
    state: State = "not wanted" if reason else "used"
    return FoundComponent(Candidate(file, is_of_project, reason), os.path.basename(name), None, state, reason)


def plugins_elsewhere(project: str, installed: Collection[str]) -> Iterator[str]:
    """A sentence about each plugin that kaa does not have, with what installs it.

    Args:
        project: the directory of the project; plugins for other ones do not count.
    """
    folder = Path(os.path.expanduser(_FOLDER))
    plugins = mapping_of(_content(folder / "installed_plugins.json").get("plugins"))
    missing = {key: entry for key, entry in plugins.items() if line_of(key).partition("@")[0] not in installed}
    if not missing:
        return
    marketplaces = _content(folder / "known_marketplaces.json")
    for key, entry in list(missing.items())[:_MOST_NAMED]:
        name, _, marketplace = line_of(key, _MAX_NAME).partition("@")
        places = entry if isinstance(entry, list) else [entry]
        used = [place for one in places if (place := mapping_of(one)) and place.get("projectPath", project) == project]
        if used:
            way = _way(name, marketplace, mapping_of(marketplaces.get(marketplace)), used[-1])
            yield f"You have the plugin {name} in Claude Code: {way}"
    if len(missing) > _MOST_NAMED:
        yield f"You have {len(missing) - _MOST_NAMED} more plugins in Claude Code"


def _way(name: str, marketplace: str, known: Mapping[str, Json], place: Mapping[str, Json]) -> str:
    """What installs a plugin: from its marketplace, which has updates, else from the folder where it is."""
    source = mapping_of(known.get("source"))
    if where := line_of(source.get("repo") or source.get("url") or source.get("path")):
        whole = shlex.quote(f"{name}@{marketplace}")
        return f"kaa plugin marketplace add {shlex.quote(where)}, then kaa plugin install {whole}"
    if path := line_of(place.get("installPath")):
        return f"kaa plugin install {shlex.quote(path)}"
    return "kaa plugin install, with the folder or the repository that it comes from"


def _content(file: Path) -> dict[str, Json]:
    """The object in a file; empty if there is none: what Claude Code keeps is not kaa's to complain about."""
    try:
        return object_in(beginning_of(file, MAX_BYTES + 1))
    except (OSError, InvalidJsonError):
        return {}
