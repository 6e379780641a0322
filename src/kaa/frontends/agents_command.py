"""`kaa agents`: which kaa work on this machine, at what, and what one of them or of their agents said and did."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kaa.core.messages import Json
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.json_text import json_line
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.session.errors import SessionError
from kaa.shell.home import Home
from kaa.shell.live_sessions import LiveSession, live_sessions
from kaa.shell.sessions import Sessions
from kaa.tui.sanitize import sanitize

_MOST_TITLE = 60


class _UnknownAgentError(Exception):
    """Nothing at work is meant; the message says what is."""


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa agents`. Returns the exit code."""
    about = "Show the kaa of yours that are open on this machine, and the agents that work for them."
    failures = (_UnknownAgentError, SessionError, OSError)
    return run_subcommand("agents", about, SUBCOMMANDS, failures, arguments or ["list"], directory)


def _list(parsed: argparse.Namespace, home: Home) -> int:
    sessions = Sessions(home, parsed.directory, None)
    for live in live_sessions(home):
        summary, _ = sessions.summary(live.path)
        if parsed.json:
            deliver(sys.stdout, json_line(_facts(live, summary.id, summary.cwd, summary.title)))
            continue
        doing = f": {live.doing}" if live.doing else ""
        _print(f"{summary.id[-8:]}  {live.state}{doing}")
        _print(f"    {_home_as_tilde(summary.cwd)}, process {live.pid}: {summary.title[:_MOST_TITLE]}")
        for agent in live.agents:
            _print(f"    {agent.id}  {agent.doing or 'begins'}")
    return ExitCode.DONE


def _show(parsed: argparse.Namespace, home: Home) -> int:
    from kaa.session.export.markdown import write_markdown  # lazy, all: `list` needs none
    from kaa.session.export.selection import ExportSelection
    from kaa.session.export.source import SnapshotFile

    out = io.BytesIO()
    with SnapshotFile.open(_meant(parsed.id, home)) as snapshot:
        write_markdown(snapshot, ExportSelection(), out)
    lines = out.getvalue().decode("utf-8", "replace").splitlines()
    _print("\n".join(lines[-parsed.lines :]))
    return ExitCode.DONE


def _meant(wanted: str, home: Home) -> Path:
    """The session of the kaa or agent that an id, a process or the beginning of one means.

    Raises:
        _UnknownAgentError: none, or several.
    """
    known: dict[str, Path] = {}
    for live in live_sessions(home):
        name = live.path.stem
        known |= {str(live.pid): live.path, name[-8:]: live.path, name: live.path}
        known |= {agent.id: agent.path for agent in live.agents}
    if wanted in known:
        return known[wanted]
    fitting = {path for name, path in known.items() if name.startswith(wanted)}
    if len(fitting) == 1:
        return fitting.pop()
    raise _UnknownAgentError(
        f"{'several that work begin' if fitting else 'nothing that works begins'} with {wanted!r}: see kaa agents"
    )


def _facts(live: LiveSession, session_id: str, cwd: str, title: str) -> dict[str, Json]:
    return {
        "id": session_id,
        "pid": live.pid,
        "cwd": cwd,
        "title": title,
        "state": live.state,
        "doing": live.doing,
        "session": str(live.path),
        "agents": [{"id": agent.id, "doing": agent.doing, "session": str(agent.path)} for agent in live.agents],
    }


def _home_as_tilde(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def _print(text: str) -> None:
    deliver(sys.stdout, sanitize(f"{text}\n"))


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lines", type=int, default=100, metavar="N", help="how many lines of its end (default: 100)")
    parser.add_argument("id", metavar="ID", help="as kaa agents shows it; the beginning is enough")


SUBCOMMANDS = {
    "list": Subcommand("list what is open, and what it does", _list_arguments, _list),
    "show": Subcommand("show what one said and did until now", _show_arguments, _show),
}
