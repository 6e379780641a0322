"""Which of a fixed list of mutants the tests kill, and whether a change of the tests loses one.

    python -m scripts.mutants check                # try what the tests killed before
    python -m scripts.mutants map                  # run all tests once, and note which mutants each of them reaches
    python -m scripts.mutants run                  # try all mutants with the tests that reach them
    python -m scripts.mutants compare BEFORE AFTER # compare two files of results

All of it happens in copies of a commit below `.mutants`, with environments of their own.
"""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from time import monotonic

from scripts.mutants import listed, reach, results, trials
from scripts.mutants.listed import Mutant, MutantError
from scripts.mutants.reach import ReachMap
from scripts.mutants.results import Result, Results
from scripts.mutants.scratch import REPOSITORY, Scratch, ScratchError, changed_tests, commit_of
from scripts.mutants.trials import Attempt, Scratches

_FOLDER = REPOSITORY / ".mutants"
_MAP, _RESULTS = _FOLDER / "map.json", _FOLDER / "results.json"
_KILLERS_SECONDS = 1800.0  # for the tests of this file, without mutants; a minute of processor time at the most


def main() -> int:
    """Do what the arguments say. Returns the exit code."""
    arguments = _parser().parse_args()
    _FOLDER.mkdir(exist_ok=True)
    started = monotonic()
    try:
        code: int = arguments.act(arguments)
    except (MutantError, ScratchError, OSError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    if arguments.act is not _compare:
        minutes = (monotonic() - started) / 60
        print(f"{sum(os.times()[:4]) / 60:.1f} CPU minutes in {minutes:.1f} minutes")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants")
    commands = parser.add_subparsers(required=True)

    check = commands.add_parser("check", help="try the mutants that were killed before; exit 1 if one survives")
    check.add_argument("--before", type=Path, default=results.KILLED, help="file of results to compare with")
    check.set_defaults(act=_check)

    mapping = commands.add_parser("map", help="run all tests once, and note which mutants each of them reaches")
    mapping.add_argument("--since", type=Path, metavar="MAP", help="map only the files of tests that changed since MAP")
    mapping.set_defaults(act=_map)

    run = commands.add_parser("run", help="try all mutants, or those that a file of results does not have yet")
    run.add_argument("--map", type=Path, default=_MAP)
    run.set_defaults(act=_run)

    for command in (check, mapping, run):
        command.add_argument("--revision", default="HEAD", help="the commit to test (default: HEAD)")
        command.add_argument("--output", type=Path, default=_MAP if command is mapping else _RESULTS)
    for command in (check, run):
        command.add_argument("--workers", type=int, default=2, help="mutants to try at the same time (default: 2)")

    compare = commands.add_parser("compare", help="compare two files of results; exit 1 if a killed mutant is lost")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.set_defaults(act=_compare)
    return parser


def _map(arguments: argparse.Namespace) -> int:
    mutants = listed.load()
    with Scratch.made(arguments.revision) as scratch:
        if arguments.since is None:
            found = scratch.reach(mutants)
        else:
            found = _updated(scratch, mutants, reach.load(arguments.since))
    found.save(arguments.output)
    outcomes = [visit.outcome for visit in found.tests.values()]
    print(", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in ("passed", "failed", "skipped")))
    return 0


def _updated(scratch: Scratch, mutants: list[Mutant], known: ReachMap) -> ReachMap:
    if missing := {mutant.name for mutant in mutants} - set(known.mutants):
        raise MutantError(f"the map does not have {', '.join(sorted(missing))}: run `map` without --since")
    files = changed_tests(known.revision, scratch.revision)
    fresh = scratch.reach(mutants, files).tests if files else {}
    return ReachMap(scratch.revision, known.mutants, {**known.without(files).tests, **fresh})


def _run(arguments: argparse.Namespace) -> int:
    mutants, known = listed.load(), reach.load(arguments.map)
    if missing := {mutant.name for mutant in mutants} - set(known.mutants):
        raise MutantError(f"{arguments.map} does not have {', '.join(sorted(missing))}: run `map`")
    revision = commit_of(arguments.revision)
    done = results.load(arguments.output).begun_for(revision) if arguments.output.exists() else {}
    left = [mutant for mutant in mutants if mutant.name not in done]
    with Scratches.made(revision, arguments.workers) as scratches:
        for mutant, result in scratches.try_all(left, partial(trials.try_reaching, known)):
            _print(mutant, result)
            done[mutant.name] = result
            Results(revision, done).save(arguments.output)
    print(f"{sum(result.is_killed for result in done.values())} of {len(done)} mutants killed")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    before = results.load(arguments.before)
    killers = {name: result.by for name, result in before.mutants.items() if result.is_killed}
    left = [mutant for mutant in listed.load() if mutant.name in killers]
    revision = commit_of(arguments.revision)
    changed = changed_tests(before.revision, revision)
    done: dict[str, Result] = {}

    def attempt(scratches: Scratches, how: Attempt) -> list[Mutant]:
        for mutant, result in scratches.try_all(left, how):
            done[mutant.name] = result
            if result.is_killed:
                _print(mutant, result)
        return [mutant for mutant in left if not done[mutant.name].is_killed]

    with Scratches.made(revision, arguments.workers) as scratches:
        with scratches.one() as scratch:
            failing = scratch.failing(sorted(set(killers.values())), _KILLERS_SECONDS)
        sound = {name: test for name, test in killers.items() if test not in failing}
        left = attempt(scratches, partial(trials.try_known, sound))
        # A few are left where tests have changed: their new killer is among those tests, or anywhere.
        for files in ([changed] if changed else []) + [[]]:
            if left:
                print(f"{len(left)} left, for which {len(files) or 'all'} files of tests are mapped", flush=True)
                with scratches.one() as scratch:
                    known = scratch.reach(left, files)
                left = attempt(scratches, partial(trials.try_reaching, known))
    after = Results(revision, done)
    after.save(arguments.output)
    return _compared(before, after)


def _compare(arguments: argparse.Namespace) -> int:
    return _compared(results.load(arguments.before), results.load(arguments.after))


def _compared(before: Results, after: Results) -> int:
    comparison = results.compare(before, after)
    print(*comparison.lines(before, after), sep="\n")
    return 1 if comparison.lost else 0


def _print(mutant: Mutant, result: Result) -> None:
    by = f" by {result.by}" if result.by else ""
    print(f"{mutant.name} ({mutant.why}): {result.verdict}{by}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
