"""`kaa import`: which files of other agents there are, and whether kaa uses them."""

import argparse
import asyncio
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kaa.builtin.amounts import counted
from kaa.core.messages import Json
from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver, while_delivered
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.json_text import json_line
from kaa.shell.components import FOREIGN_AGENTS
from kaa.shell.components.claude_settings import FILE, claude_settings, notes_on
from kaa.shell.components.overview import Overview, overview
from kaa.shell.components.reading import FoundComponent
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError, load_user_settings
from kaa.shell.settings_file import SettingsFile
from kaa.shell.trust.configuration import TrustError
from kaa.tui.sanitize import one_line, sanitize


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa import` in a directory. Returns the exit code."""
    parsed = _parser().parse_args(arguments)
    return while_delivered(lambda: _ran(parsed, directory))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "kaa import",
        "Use the skills, commands, hooks and agents that you have for other agents, where they"
        " are: kaa copies nothing. Without an agent, show what there is in this project and in your home.",
        ("kaa import", "kaa import claude", "kaa import --stop claude"),
    )
    parser.add_argument("agents", metavar="AGENT", nargs="*", help=f"use its files: {', '.join(FOREIGN_AGENTS)}")
    parser.add_argument("--list", action="store_true", help="show what there is; the default without an agent")
    parser.add_argument("--stop", action="store_true", help="do not use the files of these agents any more")
    parser.add_argument("--json", action="store_true", help="print one JSON object per file")
    return parser


def _ran(parsed: argparse.Namespace, directory: str) -> int:
    try:
        home = Home.of(os.environ)
        if unknown := [name for name in parsed.agents if name not in FOREIGN_AGENTS]:
            names = ", ".join(FOREIGN_AGENTS)
            deliver(sys.stderr, sanitize(f"kaa: there is no agent {unknown[0]!r}. Agents: {names}\n"))
            return ExitCode.USAGE
        if parsed.agents:
            _choose(home, parsed.agents, directory, stop=parsed.stop)
        if parsed.list or parsed.json or not parsed.agents:
            found = asyncio.run(overview(directory, home, os.environ))
            _show(found, home, as_json=parsed.json)
            if not parsed.agents and not parsed.json:
                deliver(sys.stdout, "".join(f"{one_line(line)}\n" for line in _servers(None, home, directory)))
    except SettingsError as error:
        deliver(sys.stderr, sanitize(f"kaa: {error}\n"))
        return ExitCode.USAGE
    except BrokenPipeError:
        raise
    except (TrustError, OSError) as error:
        deliver(sys.stderr, sanitize(f"kaa: {error}\n"))
        return ExitCode.FAILED
    return ExitCode.DONE


def _choose(home: Home, agents: Sequence[str], directory: str, *, stop: bool) -> None:
    """Keep whose files are used.

    Raises:
        SettingsError: the settings cannot be read or written.
    """
    settings = load_user_settings(home.settings)
    before = settings.use_files_of
    kept = set(before) - set(agents) if stop else set(before) | set(agents)
    chosen = [name for name in FOREIGN_AGENTS if name in kept]
    changes: dict[str, Json] = {"useFilesOf": list(chosen)}
    lines: list[str] = []
    if "claude" in agents and not stop:
        theirs = claude_settings()
        lines += theirs.unused
        if denied := [rule for rule in theirs.denied if rule not in settings.approvals.deny]:
            changes["approvals"] = {"deny": [*settings.approvals.deny, *denied]}
            lines.append(f"Added to `approvals.deny`, because Claude Code forbids it: {', '.join(denied)}")
            lines += [f"  {note}" for note in notes_on(denied)]
    SettingsFile(home.settings).set(changes)
    own = "kaa uses its own files only from the next session on."
    told = f"kaa uses the files of {', '.join(chosen)} from the next session on." if chosen else own
    deliver(sys.stdout, sanitize(f"{told} `useFilesOf` in {home.settings} says so.\n"))
    if not stop:
        lines += _servers(agents, home, directory)
    deliver(sys.stdout, "".join(f"{one_line(line)}\n" for line in lines))


def _servers(agents: Iterable[str] | None, home: Home, directory: str) -> Iterator[str]:
    """Lines that name the MCP servers of agents that kaa's own file does not have.

    Args:
        agents: the agents; None: all.
    """
    from kaa.shell.mcp.config.file import ServerFileError, entries_in, rival_of  # lazy: not for --stop, --json
    from kaa.shell.mcp.config.importing import AGENTS, ImportedServersError, imported

    try:
        present = entries_in(home.path / "mcp.json")
    except ServerFileError:
        present = {}  # `kaa mcp import` names the mistake
    for agent in AGENTS if agents is None else agents:
        if agent not in AGENTS:
            continue
        try:
            names = [server.name for server in imported(agent, Path.home(), directory).servers]
        except ImportedServersError as error:
            yield f"{error}"
            continue
        if new := [name for name in names if not rival_of(name, present)]:
            yield f"MCP servers of {agent}: {', '.join(new)}. `kaa mcp import {agent}` copies them."


def _show(found: Overview, home: Home, *, as_json: bool) -> None:
    for notice in (*found.notices, *found.unused, *_of_claude(home)):
        deliver(sys.stderr, sanitize(f"{notice}\n"))
    if as_json:
        deliver(sys.stdout, "".join(json_line(_record(one)) for one in found.components))
        return
    if not found.components:
        deliver(
            sys.stdout,
            "There are no skills, commands, hooks, agents or instructions, in this project and in your home.\n",
        )
        return
    for is_of_project, title in ((True, "This project"), (False, "Your home")):
        of_it = [one for one in found.components if one.candidate.is_of_project == is_of_project]
        used = sum(one.state == "used" for one in of_it)
        if of_it:
            deliver(sys.stdout, f"{title}: {counted(len(of_it), 'file')}, {used} used\n")
        for one in of_it:
            deliver(sys.stdout, "".join(f"  {one_line(line)}\n" for line in _lines(one)))


def _of_claude(home: Home) -> Iterator[str]:
    """What the settings of Claude Code say that kaa does not use, or not yet."""
    theirs = claude_settings()
    yield from theirs.unused
    known = load_user_settings(home.settings).approvals.deny
    if denied := [rule for rule in theirs.denied if rule not in known]:
        yield f"{FILE}: `kaa import claude` adds to `approvals.deny`: {', '.join(denied)}"


def _lines(one: FoundComponent) -> Iterator[str]:
    file = one.candidate.file
    yield f"{file.place.kind} {one.name}: {one.state if one.state == 'used' else f'not used, because {one.reason}'}"
    yield f"  {file.path}"
    for note in one.notes:
        yield f"  {note}"


def _record(one: FoundComponent) -> dict[str, object]:
    file = one.candidate.file
    return {
        "kind": file.place.kind,
        "name": one.name,
        "agent": file.place.agent,
        "scope": "project" if one.candidate.is_of_project else "user",
        "path": file.path,
        "sha256": hashlib.sha256(file.data).hexdigest(),
        "state": one.state,
        "reason": one.reason,
        "notes": one.notes,
    }
