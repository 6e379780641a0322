"""Compares kaa's sources in the working tree with those of a commit: times, CPU time and memory, in pairs.

    python -m benchmarks.change main                           everything, in about five minutes
    python -m benchmarks.change main --only tool_turns         some of it
    python -m benchmarks.change main --json comparison.json    and keep the figures

Exit code 0: nothing grew; 1: a figure grew by more than the limit; 2: it could not be measured.
Needs Linux, git, and the environment that `make setup` makes. docs/benchmarks.md describes the method.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import msgspec

from benchmarks.change import report, sides
from benchmarks.change.comparison import Bench
from benchmarks.change.figures import Comparison, Verdict
from benchmarks.change.measures import MEASURES
from benchmarks.model_process import ModelProcess
from benchmarks.process_tree import adopt_orphans, exempt_children
from benchmarks.report import BUSY_LOAD, describe_machine

_GREW, _FAILED = 1, 2
_LIMIT = 1.10


def run(arguments: Sequence[str]) -> int:
    """Run the comparison that the arguments describe; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        with _ended_by_signals():
            return _compare(options)
    except sides.SetupError as error:
        _say(f"bench-change: {error}")
        return _FAILED


def _parser() -> argparse.ArgumentParser:
    names = [measure.name for measure in MEASURES]
    parser = argparse.ArgumentParser(
        prog="bench-change", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", metavar="BASE", help="the commit to compare with: a hash, branch or tag")
    parser.add_argument(
        "--rounds", type=_count, metavar="N", help="pairs of each measure after a warm-up (default 3 to 9)"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=names,
        metavar="NAME",
        help=f"measure only this; repeatable: {', '.join(names)}",
    )
    parser.add_argument(
        "--limit", type=_limit, default=_LIMIT, metavar="RATIO", help=f"what may not be exceeded (default {_LIMIT:.2f})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")
    parser.add_argument(
        "--repository",
        type=Path,
        default=sides.REPOSITORY,
        metavar="DIR",
        help="the checkout to compare (default: the one that contains this benchmark)",
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="make temporary folders here (default: beside the repository)"
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of pairs: give 1 or more")
    return int(text)


def _limit(text: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not limit >= 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a ratio: give 1 or more, such as 1.10")
    return limit


def _compare(options: argparse.Namespace) -> int:
    if options.json and not options.json.absolute().parent.is_dir():
        raise sides.SetupError(f"cannot write {options.json}: there is no such folder")
    repository = options.repository.resolve()
    sides.check_checkout(repository)
    base, now = sides.commit_of(repository, options.base), sides.commit_of(repository, "HEAD")
    changed = sides.changed_sources(repository)
    if changed:
        _say(f"src has uncommitted changes ({len(changed)} files), which are measured as a part of now")
    if (load := os.getloadavg()[0]) > BUSY_LOAD:
        _say(f"this machine is busy (load {load:.1f}): figures scatter, and more pairs may be needed")
    comparisons = _measure(options, repository, base)
    print(f"base: {options.base} ({base[:9]}), now: {now[:9]}{' with uncommitted changes' if changed else ''}\n")
    print(report.table(comparisons), report.summary(comparisons, options.limit), sep="\n\n")
    if options.json:
        rows = [report.row(comparison) for comparison in comparisons]
        kept = report.Report(describe_machine(), base, now, changed, options.limit, rows)
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(kept)))
    if any("now" in comparison.missing for comparison in comparisons):
        return _FAILED
    return _GREW if any(comparison.verdict is Verdict.GREW for comparison in comparisons) else 0


def _measure(options: argparse.Namespace, repository: Path, base: str) -> list[Comparison]:
    adopt_orphans()
    comparisons: list[Comparison] = []
    with ExitStack() as stack:
        folder = stack.enter_context(sides.workplace(repository, options.folder))
        both = stack.enter_context(sides.sides(repository, base, folder))
        servers = stack.enter_context(ModelProcess()), stack.enter_context(ModelProcess())
        exempt_children()
        bench = Bench(*both, servers, folder / "runs", options.limit, _say)
        bench.check_start()
        for measure in MEASURES:
            if not options.only or measure.name in options.only:
                _say(f"measuring {measure.name} …")
                comparisons += bench.compare(measure, options.rounds or measure.rounds)
    return comparisons


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal that ends the program remove first what is temporary."""

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        for ending in sides.ENDING_SIGNALS:
            signal.signal(ending, signal.SIG_IGN)  # once is enough: nothing disturbs the removal
        raise SystemExit(128 + number)

    handlers = {number: signal.signal(number, end) for number in sides.ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
