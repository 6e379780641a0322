"""Instructions, rules and MCP servers as components, for `kaa import`; conversations read them elsewhere."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from kaa.host.regular_files import read_regular
from kaa.shell.components import USER_INSTRUCTIONS, ForeignAgent, FoundFile, Kind, Place
from kaa.shell.components.reading import Candidate, Component, State
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import ApprovalRecordsError, Approvals
from kaa.shell.mcp.config.reading import configured
from kaa.shell.project_files import server_files
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.instructions import CONTEXT_NAMES
from kaa.shell.trust.verdict import TrustVerdict


def instructions_of(project: ProjectConfiguration, verdict: TrustVerdict) -> Iterator[Component]:
    """The instructions and rules of a project, of folders above it and in it."""
    for file in (*project.instructions, *project.nested):
        kind: Kind = "rule" if file.rule else "instructions"
        reason = file.problem
        if not reason and file.path not in verdict.instructions:
            reason = "you have not trusted it, so that it only informs the model: /trust in the terminal asks"
        yield _text(file.path, file.name, kind, file.data, reason, is_of_project=True)


def instructions_of_user(home: Home, wanted: Sequence[ForeignAgent]) -> Iterator[Component]:
    """The user's instructions for all projects: kaa's, and those for other agents."""
    own = [str(home.path / name) for name in CONTEXT_NAMES]
    for path in [path for path in own if os.path.isfile(path)][:1]:
        yield from _of_user(path, "")
    for agent, path in USER_INSTRUCTIONS.items():
        obstacle = f"you have not asked for it: `kaa import {agent}` uses the files of {agent}"
        yield from _of_user(os.path.expanduser(path), "" if agent in wanted else obstacle)


def servers(home: Home, project: ProjectConfiguration, verdict: TrustVerdict) -> Iterator[Component]:
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
        yield Component(candidate, server.name, None, state, reason, (runs, *server.ignored))


def _of_user(path: str, obstacle: str) -> Iterator[Component]:
    with suppress(OSError):
        yield _text(path, path, "instructions", read_regular(path), obstacle, is_of_project=False)


def _text(path: str, name: str, kind: Kind, data: bytes, reason: str, *, is_of_project: bool) -> Component:
    file = FoundFile(path, name, data, Place(os.path.dirname(path), kind, "kaa"), path)
    state: State = "not wanted" if reason else "used"
    return Component(Candidate(file, is_of_project, reason), os.path.basename(name), None, state, reason)
