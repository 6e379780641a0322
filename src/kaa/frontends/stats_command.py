"""`kaa stats`: what all sessions used, by model, day, project or session."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from kaa.builtin.amounts import counted, dollars
from kaa.builtin.columns import fitted
from kaa.core.spending import IsFree, is_price_unknown
from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver, terminal_columns, while_delivered
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.json_text import encoded
from kaa.frontends.session_commands import add_session_dir, positive, reading_progress, sessions_of
from kaa.llm.models.registry import ModelRegistry
from kaa.session.catalogue.records import SessionScope, SessionSummary, UsageRow
from kaa.session.errors import SessionError
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize, squeezed

Grouping: TypeAlias = Literal["model", "day", "project", "session"]

_SECONDS_PER_DAY = 86_400
_LABEL_LENGTH = 60


class UsageGroup(msgspec.Struct, frozen=True, rename="camel"):
    """What some replies used together.

    Attributes:
        input: tokens without those read from or written to the provider's cache.
        cost: US dollars, of the replies whose price is known.
        unpriced: replies whose price is not known.
    """

    replies: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def __add__(self, other: "UsageGroup") -> "UsageGroup":
        """Both together."""
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return UsageGroup(*(one + another for one, another in zip(mine, theirs, strict=True)))

    @property
    def prompt(self) -> int:
        """Tokens of all input."""
        return self.input + self.cache_read + self.cache_write


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa stats`. Returns the exit code."""
    parsed = _parser().parse_args(arguments)
    parsed.directory = directory
    return while_delivered(lambda: _report(parsed))


def grouped(rows: Iterable[UsageRow], key: Callable[[UsageRow], str], is_free: IsFree) -> dict[str, UsageGroup]:
    """What rows add up to, by `key`."""
    groups: dict[str, UsageGroup] = {}
    for row in rows:
        unknown = is_price_unknown(is_free, row.provider, row.model, tokens=row.tokens, cost=row.cost)
        unpriced = row.replies if unknown else 0
        group = UsageGroup(row.replies, row.input, row.output, row.cache_read, row.cache_write, row.cost, unpriced)
        groups[key(row)] = groups.get(key(row), UsageGroup()) + group
    return groups


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "kaa stats",
        "Show what the sessions of kaa and of pi on this machine used.",
        ("kaa stats --days 7 --by project", "kaa stats --here --json"),
    )
    parser.add_argument("--days", metavar="N", type=positive, help="only the last N days, today included")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--all", action="store_true", help="all projects (that is what happens unless told)")
    where.add_argument("--here", action="store_true", help="only sessions of this directory")
    parser.add_argument(
        "--by", choices=["model", "day", "project", "session"], default="model", help="one row for each"
    )
    add_session_dir(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per row")
    return parser


def _report(parsed: argparse.Namespace) -> int:
    try:
        models = ModelRegistry(Home.of(os.environ).path, os.environ)
        sessions = sessions_of(parsed.directory, parsed.session_dir)
        scope: SessionScope = "here" if parsed.here else "everywhere"
        known = {summary.path: summary for summary in sessions.list(scope, reading_progress())}
        rows = sessions.usage(scope)
    except (SettingsError, SessionError, OSError) as error:
        sys.stderr.write(f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE if isinstance(error, SettingsError) else ExitCode.FAILED
    if parsed.days is not None:
        first = time.strftime("%Y-%m-%d", time.localtime(time.time() - (parsed.days - 1) * _SECONDS_PER_DAY))
        rows = [row for row in rows if row.day >= first]
    groups = _sorted(grouped(rows, _key(parsed.by, known), models.is_free), parsed.by)
    write = _lines if parsed.json else _table
    deliver(sys.stdout, "".join(f"{line}\n" for line in write(groups, parsed.by, known)))
    return ExitCode.DONE


def _key(by: Grouping, known: Mapping[Path, SessionSummary]) -> Callable[[UsageRow], str]:
    """What a row belongs to."""
    match by:
        case "model":
            return lambda row: f"{row.provider}/{row.model}"
        case "day":
            return lambda row: row.day
        case "project":
            return lambda row: known[row.session].cwd if row.session in known else ""
        case "session":
            return lambda row: str(row.session)


def _sorted(groups: Mapping[str, UsageGroup], by: Grouping) -> dict[str, UsageGroup]:
    """Days in their order; everything else with the dearest first."""
    if by == "day":
        return dict(sorted(groups.items()))
    return dict(sorted(groups.items(), key=lambda item: (-item[1].cost, -item[1].prompt, item[0])))


def _lines(groups: Mapping[str, UsageGroup], by: Grouping, known: Mapping[Path, SessionSummary]) -> list[str]:
    """One JSON object per group. `cost` is null where it is not known; `knownCost` is the part that is."""
    lines = []
    for key, group in groups.items():
        fields = msgspec.to_builtins(group)
        fields |= {"cost": None if group.unpriced else group.cost, "knownCost": group.cost}
        summary = known.get(Path(key)) if by == "session" else None
        about = {"id": summary.id, "title": summary.title, "cwd": summary.cwd} if summary is not None else {}
        lines.append(encoded({by: key, **about, **fields}).decode())
    return lines


def _table(groups: Mapping[str, UsageGroup], by: Grouping, known: Mapping[Path, SessionSummary]) -> list[str]:
    if not groups:
        return ["no session used anything in that time"]
    rows: list[tuple[str, ...]] = [(f"by {by}", "replies", "input", "output", "cached", "cost")]
    rows += [_row(_label(key, by, known), group) for key, group in groups.items()]
    total = sum(groups.values(), UsageGroup())
    if len(groups) > 1:
        rows.append(_row("together", total))
    lines = fitted(rows, terminal_columns(sys.stdout), ("replies", "output", "cached"))
    if total.unpriced:
        known_part = f" The others cost {dollars(total.cost)}." if total.cost else ""
        lines += ["", f"The price of {counted(total.unpriced, 'reply', 'replies')} is not known.{known_part}"]
    return lines


def _row(label: str, group: UsageGroup) -> tuple[str, ...]:
    cached = f"{group.cache_read / group.prompt:.0%}" if group.prompt else ""
    cost = dollars(None if group.unpriced else group.cost)
    return label, f"{group.replies:,}", f"{group.prompt:,}", f"{group.output:,}", cached, cost


def _label(key: str, by: Grouping, known: Mapping[Path, SessionSummary]) -> str:
    """A group as people know it; foreign text, so without what a terminal would obey."""
    label = key or "(no directory)"
    if by == "session":
        summary = known.get(Path(key))
        label = f"{summary.id[:8]} {summary.title}" if summary is not None else Path(key).name
    line = squeezed(label)
    return line if len(line) <= _LABEL_LENGTH else f"{line[: _LABEL_LENGTH - 1]}…"
