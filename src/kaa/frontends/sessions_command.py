"""`kaa sessions`: lists, searches, checks, repairs, names and throws away sessions, without any conversation."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.core.messages import Json
from kaa.core.spending import is_price_unknown
from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver, while_delivered
from kaa.frontends.exit_codes import ExitCode, of_session_error
from kaa.frontends.session_commands import add_session_dir, positive, reading_progress, sessions_of
from kaa.frontends.sessions_report import facts, health_lines, hit_lines, list_lines, repair_lines, trash_lines
from kaa.session.catalogue.matching import Query, QueryError
from kaa.session.catalogue.records import SessionScope, UsageRow
from kaa.session.errors import SessionError
from kaa.shell.home import Home
from kaa.shell.sessions import Sessions
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize, squeezed


class SessionsSubcommand(NamedTuple):
    """One of `kaa sessions`.

    Attributes:
        run: does it. Returns the exit code.
    """

    help: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa sessions`. Returns the exit code."""
    name = arguments[0] if arguments else "--help"
    if name not in SUBCOMMANDS:
        parser = CommandParser(
            "kaa sessions",
            "Look after the sessions of kaa and of pi.",
            [_example(one) for one in ("list", "search", "show", "export")],
            epilog="commands:\n" + "\n".join(f"  {name:<8}  {command.help}" for name, command in SUBCOMMANDS.items()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("COMMAND", choices=list(SUBCOMMANDS), help="what to do, see below")
        parser.parse_args([name])
        return ExitCode.USAGE  # not reached: the parser has told what is wrong
    command = SUBCOMMANDS[name]
    about = f"{command.help[:1].upper()}{command.help[1:]}."
    parser = CommandParser(f"kaa sessions {name}", about, [_example(name)])
    command.add_arguments(parser)
    parsed = parser.parse_args(arguments[1:])
    parsed.directory = directory
    return while_delivered(lambda: _ran(command, parsed))


def _example(name: str) -> str:
    return f"kaa sessions {name} {SUBCOMMANDS[name].example}"


def _ran(command: SessionsSubcommand, parsed: argparse.Namespace) -> int:
    try:
        return command.run(parsed)
    except (SessionError, QueryError, SettingsError) as error:
        return _failed(error)


def _failed(error: Exception) -> ExitCode:
    """Tell what went wrong. Returns the exit code."""
    sys.stderr.write(f"kaa: {sanitize(str(error))}\n")
    return of_session_error(error) if isinstance(error, SessionError) else ExitCode.USAGE


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    add_session_dir(parser)


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-a", "--all", action="store_true", help="of all directories, not only of this one")
    _add_common(parser)


def _add_sessions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sessions", nargs="+", metavar="ID|PATH", help="the beginnings of ids, or files")
    _add_common(parser)


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", help="only sessions whose name, beginning, directory or id fits, as /resume")
    _add_scope(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", nargs="+", metavar="TEXT", help='words and "phrases" that stand in one entry, or re:EXPRESSION'
    )
    parser.add_argument("-n", "--limit", metavar="N", type=positive, default=20, help="places at most (default 20)")
    _add_scope(parser)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sessions", nargs="*", metavar="ID|PATH", help="which; all of this directory unless told")
    _add_scope(parser)


def _add_repair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--in-place", action="store_true", help="replace the file, and keep the old one as .bak")
    _add_sessions(parser)


def _add_rename(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID|PATH", help="the beginning of an id, or a file")
    parser.add_argument("name", nargs="+", metavar="NAME", help="the name; an empty one takes it away")
    _add_common(parser)


def _add_restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sessions",
        nargs="*",
        metavar="ID|NAME|PATH",
        help="beginnings of ids, names or files; lists the trash unless told",
    )
    _add_common(parser)


def _scope(parsed: argparse.Namespace) -> SessionScope:
    return "everywhere" if parsed.all else "here"


def _print(lines: Iterable[str]) -> None:
    deliver(sys.stdout, "".join(f"{line}\n" for line in lines))


def _json(value: Json) -> str:
    """One line; names of files that are not UTF-8 with U+FFFD in them."""
    return msgspec.json.encode(value, enc_hook=lambda path: os.fsencode(path).decode("utf-8", "replace")).decode()


def _fields(record: msgspec.Struct) -> dict[str, Json]:
    """A record's fields as JSON has them."""
    fields: dict[str, Json] = msgspec.json.decode(_json(record))
    return fields


def _list(parsed: argparse.Namespace) -> int:
    query = Query.parse(" ".join(parsed.text))
    found = sessions_of(parsed.directory, parsed.session_dir).list(_scope(parsed), reading_progress())
    fitting = [summary for summary in found if query.is_empty or query.score(summary) is not None]
    if parsed.json:
        _print(_json(summary) for summary in fitting)
    elif fitting:
        _print(list_lines(fitting, with_cwd=parsed.all))
    else:
        sys.stderr.write(f"kaa: {_nothing(parsed, bool(found))}\n")
    return ExitCode.DONE if fitting or not parsed.text else ExitCode.FAILED


def _nothing(parsed: argparse.Namespace, any_there: bool) -> str:
    if any_there:
        return "no session fits"
    return "there are no sessions" if parsed.all else "this directory has no sessions; --all looks in all of them"


def _search(parsed: argparse.Namespace) -> int:
    if Query.parse(" ".join(parsed.text)).is_empty:
        raise QueryError('nothing to look for: give words, a "phrase", or re: and an expression')
    hits = sessions_of(parsed.directory, parsed.session_dir).search(
        " ".join(parsed.text), _scope(parsed), parsed.limit, reading_progress()
    )
    if parsed.json:
        _print(_json(hit) for hit in hits)
    elif hits:
        _print(hit_lines(hits, emphasize=sys.stdout.isatty()))
    else:
        sys.stderr.write(f"kaa: not found{'' if parsed.all else ' in the sessions of this directory'}\n")
    return ExitCode.DONE if hits else ExitCode.FAILED


def _show(parsed: argparse.Namespace) -> int:
    sessions = sessions_of(parsed.directory, parsed.session_dir)

    def show(path: Path) -> bool:
        summary, usage = sessions.summary(path)
        costs = [(row, _cost(row)) for row in usage]
        if parsed.json:
            rows = [{**_fields(row), "cost": cost} for row, cost in costs]
            _print([_json({**_fields(summary), "usage": rows})])
        else:
            _print([*facts(summary, costs), ""])
        return True

    return _each(_named(sessions, parsed), show)


def _cost(row: UsageRow) -> float | None:
    """US dollars; None where the price is not known."""
    is_unknown = is_price_unknown(_is_free, row.provider, row.model, tokens=row.tokens, cost=row.cost)
    return None if is_unknown else row.cost


def _is_free(provider: str, model: str) -> bool:
    from kaa.llm.models.registry import ModelRegistry  # lazy: takes some time, and most prices are no riddle

    try:
        return ModelRegistry(Home.of(os.environ).path, os.environ).is_free(provider, model)
    except SettingsError:
        return False  # a mistake in models.json hides no session


def _check(parsed: argparse.Namespace) -> int:
    from kaa.session.upkeep.health import check  # lazy, as all that only one of the commands needs

    def tell(path: Path) -> bool:
        health = check(path)
        _print([_json({**_fields(health), "isSound": health.is_sound})] if parsed.json else health_lines(health))
        return health.is_sound

    sessions = sessions_of(parsed.directory, parsed.session_dir)
    if parsed.sessions:
        return _each(_named(sessions, parsed), tell)
    return _each([summary.path for summary in sessions.list(_scope(parsed), reading_progress())], tell)


def _repair(parsed: argparse.Namespace) -> int:
    from kaa.session.upkeep.health import check
    from kaa.session.upkeep.repair import Repaired, repair

    def mend(path: Path) -> bool:
        is_sound = check(path).is_sound
        repaired = Repaired(path, path, None, 0) if is_sound else repair(path, in_place=parsed.in_place)
        if parsed.json:
            _print([_json(repaired._asdict())])
        elif is_sound:
            _print([f"sound, nothing to repair: {sanitize(str(path))}"])
        else:
            _print(repair_lines(repaired))
        return True

    return _each(_named(sessions_of(parsed.directory, parsed.session_dir), parsed), mend)


def _trash(parsed: argparse.Namespace) -> int:
    sessions = sessions_of(parsed.directory, parsed.session_dir)

    def trash(path: Path) -> bool:
        now_at = sessions.trash(path)
        told = f"moved into the trash: {sanitize(str(path))}"
        _print([_json({"path": path, "trashed": now_at}) if parsed.json else told])
        return True

    return _each(_named(sessions, parsed), trash)


def _restore(parsed: argparse.Namespace) -> int:
    sessions = sessions_of(parsed.directory, parsed.session_dir)
    if not parsed.sessions:
        trashed = sessions.trashed()
        if parsed.json:
            _print(_json({**_fields(one.summary), "origin": one.place.origin}) for one in trashed)
        elif trashed:
            _print(trash_lines(trashed))
        else:
            sys.stderr.write("kaa: there are no sessions in the trash\n")
        return ExitCode.DONE
    worst = ExitCode.DONE
    for query in parsed.sessions:
        try:
            path = sessions.restore(query)
        except SessionError as error:
            worst = max(worst, _failed(error))
        else:
            _print([_json({"path": path}) if parsed.json else f"restored: {sanitize(str(path))}"])
    return worst


def _named(sessions: Sessions, parsed: argparse.Namespace) -> list[Path]:
    """The sessions that were named. All of them are known before anything is done with one."""
    return [sessions.resolve(query) for query in parsed.sessions]


def _each(paths: Iterable[Path], work: Callable[[Path], bool]) -> int:
    """Do the same with several sessions; what goes wrong with one keeps nothing from the others.

    Returns:
        The exit code: that of the worst.
    """
    worst = ExitCode.DONE
    for path in paths:
        try:
            code = ExitCode.DONE if work(path) else ExitCode.FAILED
        except SessionError as error:
            code = _failed(error)
        worst = max(worst, code)
    return worst


def _rename(parsed: argparse.Namespace) -> int:
    sessions = sessions_of(parsed.directory, parsed.session_dir)
    path = sessions.resolve(parsed.session)
    sessions.rename(path, " ".join(parsed.name))
    summary, _ = sessions.summary(path)
    _print([_json(summary) if parsed.json else f"{sanitize(str(path))}: {squeezed(summary.title)}"])
    return ExitCode.DONE


def _add_export(parser: argparse.ArgumentParser) -> None:
    from kaa.frontends.export_command import add_export_arguments  # lazy, as above

    add_export_arguments(parser)


def _export(parsed: argparse.Namespace) -> int:
    from kaa.frontends.export_command import run_export

    return run_export(parsed)


def _add_import(parser: argparse.ArgumentParser) -> None:
    from kaa.frontends.export_command import add_import_arguments

    add_import_arguments(parser)


def _import(parsed: argparse.Namespace) -> int:
    from kaa.frontends.export_command import run_import

    return run_import(parsed)


SUBCOMMANDS = {
    "list": SessionsSubcommand("list sessions, the newest first", "--all", _add_list, _list),
    "search": SessionsSubcommand("find where something was said, called or printed", "deadlock", _add_search, _search),
    "show": SessionsSubcommand("tell all about a session", "01a2b3", _add_sessions, _show),
    "check": SessionsSubcommand("look for damage, and change nothing", "--all", _add_check, _check),
    "repair": SessionsSubcommand("write a session anew without its damage", "01a2b3", _add_repair, _repair),
    "rename": SessionsSubcommand("call a session by another name", "01a2b3 the deadlock", _add_rename, _rename),
    "trash": SessionsSubcommand("move sessions into the trash of the system", "01a2b3", _add_sessions, _trash),
    "restore": SessionsSubcommand(
        "bring sessions back from the trash, or list those in it", "01a2b3", _add_restore, _restore
    ),
    "export": SessionsSubcommand("write a session into a file for others", "01a2b3 session.html", _add_export, _export),
    "import": SessionsSubcommand("take in a session file from elsewhere", "session.jsonl", _add_import, _import),
}
