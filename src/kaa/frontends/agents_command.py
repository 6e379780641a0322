"""`kaa agents`: which kaa work on this machine, at what, and what one of them or of their agents said and did."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kaa.core.messages import Json
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.json_text import json_line
from kaa.frontends.live.errors import LiveError
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.host.private_sockets import PrivateSocketError
from kaa.session.errors import SessionError
from kaa.session.naming import session_id_in
from kaa.shell.home import Home
from kaa.shell.live_sessions import LiveAgent, LiveSession, live_sessions
from kaa.shell.mistakes import MistakeError
from kaa.shell.sessions import Sessions
from kaa.tui.sanitize import sanitize

if TYPE_CHECKING:
    from kaa.frontends.live.client import SessionConnection
    from kaa.frontends.live.wire import Hello

_MOST_TITLE = 60
# One that hangs is listed without what only it knows.
_GREETING_SECONDS = 1.0
# The session is there before the process listens: preparing comes first, and a busy machine takes its time.
_STARTING_SECONDS = 5.0
_ID_HELP = "as kaa agents shows it; the beginning is enough"


class _UnknownAgentError(MistakeError):
    """Nothing at work is meant; the message says what is."""


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa agents`. Returns the exit code."""
    about = (
        "Show, follow, steer and stop the kaa of yours that are open on this machine, and their agents."
        " `kaa agents start TASK` works on a task without a terminal; kaa agents start --help has its options."
    )
    failures = (LiveError, PrivateSocketError, SessionError, OSError)
    return run_subcommand("agents", about, SUBCOMMANDS, failures, arguments, directory)


def _list(parsed: argparse.Namespace, home: Home) -> int:
    from kaa.frontends.live.wire import sockets_of  # lazy: `show` needs none of it

    sockets_of(home).clear_away()
    sessions = Sessions(home, parsed.directory, None)
    for found in live_sessions(home):
        summary, _ = sessions.summary(found.path)
        hello = _greeted(found, home)
        live = found if hello is None or hello.is_working is None else found.knowing(is_working=hello.is_working)
        if parsed.json:
            deliver(sys.stdout, json_line(_facts(live, summary.id, summary.cwd, summary.title, hello)))
            continue
        doing = f": {live.doing}" if live.doing else ""
        terminal = "" if hello is None or hello.has_terminal else ", without a terminal"
        _print(f"{summary.id[-8:]}  {live.state}{doing}")
        _print(f"    {_home_as_tilde(summary.cwd)}, process {live.pid}{terminal}: {summary.title[:_MOST_TITLE]}")
        for question in () if hello is None else hello.asks:
            _print(f"    waits for an answer: {question}")
        for agent in live.agents:
            _print(f"    {agent.id}  {agent.doing or 'begins'}")
    return ExitCode.DONE


def _greeted(live: LiveSession, home: Home) -> "Hello | None":
    """What a kaa says of itself; None if it does not listen, or does not answer now."""
    from kaa.frontends.live.client import SessionConnection  # lazy, as above

    try:
        with SessionConnection.to(home, live.path, live.pid, _GREETING_SECONDS) as connection:
            return connection.hello
    except (LiveError, PrivateSocketError):
        return None


def _show(parsed: argparse.Namespace, home: Home) -> int:
    from kaa.session.export.markdown import write_markdown  # lazy, all: `list` needs none
    from kaa.session.export.selection import ExportSelection
    from kaa.session.export.source import SnapshotFile

    out = io.BytesIO()
    meant = _meant(parsed.id, home)
    with SnapshotFile.open(meant.live.path if meant.agent is None else meant.agent.path) as snapshot:
        write_markdown(snapshot, ExportSelection(), out)
    lines = out.getvalue().decode("utf-8", "replace").splitlines()
    _print("\n".join(lines[-parsed.lines :]))
    return ExitCode.DONE


def _tell(parsed: argparse.Namespace, home: Home) -> int:
    from kaa.frontends.live.wire import Say, TellAgent  # lazy, here and below: `list` needs none

    meant, text = _meant(parsed.id, home), " ".join(parsed.text)
    agent = meant.agent
    with _connected(meant, home) as connection:
        said = connection.ask(
            lambda number: Say(number, text, parsed.follow_up) if agent is None else TellAgent(number, agent.id, text)
        )
    return _answer(meant, said, as_json=parsed.json)


def _stop(parsed: argparse.Namespace, home: Home) -> int:
    from kaa.frontends.live.wire import End, Stop, StopAgent

    meant = _meant(parsed.id, home)
    agent = meant.agent
    with _connected(meant, home) as connection:
        if agent is not None:
            agent_id = agent.id
            said = connection.ask(lambda number: StopAgent(number, agent_id))
        else:
            said = connection.ask(Stop if connection.hello.has_terminal else End)
    return _answer(meant, said, as_json=parsed.json)


def _attach(parsed: argparse.Namespace, home: Home) -> int:
    from kaa.frontends.live.attaching import attach

    meant = _meant(parsed.id, home)
    if meant.agent is not None:
        raise _UnknownAgentError(
            f"{meant.agent.id} works for {meant.live.path.stem[-8:]}: attach to that, or use kaa agents show"
        )
    return attach(_connected(meant, home), home, plain=parsed.plain)


class _Meant(NamedTuple):
    """A kaa that is open, or an agent that works for it."""

    live: LiveSession
    agent: LiveAgent | None


def _connected(meant: _Meant, home: Home) -> "SessionConnection":
    from kaa.frontends.live.client import SessionConnection

    return SessionConnection.to(home, meant.live.path, meant.live.pid, until_it_listens=_STARTING_SECONDS)


def _answer(meant: _Meant, said: str, *, as_json: bool) -> int:
    if as_json:
        session = meant.live.path.stem
        deliver(sys.stdout, json_line({"session": session, "pid": meant.live.pid, "text": said}))
    elif said:
        _print(said)
    return ExitCode.DONE


def _meant(wanted: str, home: Home) -> _Meant:
    """The kaa or agent that an id, a process or the beginning of one means.

    Raises:
        _UnknownAgentError: none, or several.
    """
    known: dict[str, _Meant] = {}
    for live in live_sessions(home):
        name, one = live.path.stem, _Meant(live, None)
        known |= {str(live.pid): one, name[-8:]: one, session_id_in(live.path.name) or name: one}
        known |= {agent.id: _Meant(live, agent) for agent in live.agents}
    if wanted in known:
        return known[wanted]
    fitting = {name: one for name, one in known.items() if name.startswith(wanted)}
    if len({one.agent.path if one.agent is not None else one.live.path for one in fitting.values()}) == 1:
        return next(iter(fitting.values()))
    if fitting:
        raise _UnknownAgentError(f"several that are open begin with {wanted!r}: see kaa agents")
    raise _UnknownAgentError(
        f"nothing that is open begins with {wanted!r}: it ended or was killed. kaa agents lists what is open;"
        " kaa --session ID resumes a session"
    )


def _facts(live: LiveSession, session_id: str, cwd: str, title: str, hello: "Hello | None") -> dict[str, Json]:
    return {
        "id": session_id,
        "pid": live.pid,
        "cwd": cwd,
        "title": title,
        "state": live.state,
        "doing": live.doing,
        "session": str(live.path),
        "listens": hello is not None,
        "terminal": hello is None or hello.has_terminal,
        "asks": [] if hello is None else list(hello.asks),
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
    parser.add_argument("id", metavar="ID", help=_ID_HELP)


def _tell_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the answer as a JSON object")
    parser.add_argument("--follow-up", action="store_true", help="give it the message when it would stop")
    parser.add_argument("id", metavar="ID", help=_ID_HELP)
    parser.add_argument("text", metavar="TEXT", nargs="+", help="the message, or a slash command")


def _stop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the answer as a JSON object")
    parser.add_argument("id", metavar="ID", help=_ID_HELP)


def _attach_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help="line by line, without drawing: for screen readers")
    parser.add_argument("id", metavar="ID", help=_ID_HELP)


SUBCOMMANDS = {
    "list": Subcommand("list what is open, and what it does", "--json", _list_arguments, _list),
    "show": Subcommand("show what one said and did until now", "01a2b3 --lines 20", _show_arguments, _show),
    "attach": Subcommand(
        "open the conversation of another process in this terminal", "01a2b3", _attach_arguments, _attach
    ),
    "tell": Subcommand(
        "tell one something while it works, or begin a run with it", "01a2b3 also run the tests", _tell_arguments, _tell
    ),
    "stop": Subcommand("stop one; a process without a terminal ends", "01a2b3", _stop_arguments, _stop),
}
