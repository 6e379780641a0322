"""Runs the tests against the mutants, in several scratches at once."""

import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

import msgspec

from scripts.mutants.listed import Mutant
from scripts.mutants.reach import ReachMap, batches
from scripts.mutants.results import Result, Verdict
from scripts.mutants.scratch import Outcome, Scratch

_FIRST_BATCH_SECONDS = 15.0
_BATCH_GROWTH = 4.0
# A machine may be busy, and the start of pytest takes seconds: only what hangs takes longer.
_LEAST_LIMIT_SECONDS = 120.0
_LIMIT_FACTOR = 10.0


Attempt: TypeAlias = Callable[[Scratch, Mutant], Result]
"""Finds out what becomes of a mutant."""


class Scratches:
    """Scratches of a commit, each for one mutant at a time."""

    def __init__(self, made: Sequence[Scratch]) -> None:
        self._count = len(made)
        self._free: queue.SimpleQueue[Scratch] = queue.SimpleQueue()
        for scratch in made:
            self._free.put(scratch)

    @classmethod
    @contextmanager
    def made(cls, revision: str, count: int) -> "Iterator[Scratches]":
        """Make some, and remove them at the end."""
        with ExitStack() as stack:
            yield cls([stack.enter_context(Scratch.made(revision)) for _ in range(count)])

    @contextmanager
    def one(self) -> Iterator[Scratch]:
        """Wait for a free one, and keep it meanwhile."""
        scratch = self._free.get()
        try:
            yield scratch
        finally:
            self._free.put(scratch)

    def try_all(self, mutants: Sequence[Mutant], attempt: Attempt) -> Iterator[tuple[Mutant, Result]]:
        """Try mutants at the same time; results come as they are there."""

        def work(mutant: Mutant) -> tuple[Mutant, Result]:
            with self.one() as scratch:
                return mutant, attempt(scratch, mutant)

        with ThreadPoolExecutor(self._count) as pool:
            trials = [pool.submit(work, mutant) for mutant in mutants]
            try:
                for trial in as_completed(trials):
                    yield trial.result()
            finally:
                pool.shutdown(cancel_futures=True)


def try_reaching(known: ReachMap, scratch: Scratch, mutant: Mutant) -> Result:
    """Run the tests that reach a mutant, in growing batches, until one fails for it."""
    tests = known.reaching(mutant.name)
    if not tests:
        return Result("not reached")
    seconds = {test: known.tests[test].seconds for test in tests}
    for batch in batches(tests, seconds, _FIRST_BATCH_SECONDS, _BATCH_GROWTH):
        if killed := _try_batch(scratch, mutant, batch, seconds):
            return msgspec.structs.replace(killed, reached_by=len(tests))
    return Result("survived", reached_by=len(tests))


def try_known(killers: Mapping[str, str], scratch: Scratch, mutant: Mutant) -> Result:
    """Run the test that killed a mutant before, and passes without it."""
    killer = killers.get(mutant.name)
    if killer is None:
        return Result("survived")
    outcome = scratch.run(mutant, [killer], _limit([killer], {}))
    return Result(_verdict(outcome), killer) if outcome.failed else Result("survived")


def _try_batch(scratch: Scratch, mutant: Mutant, tests: Sequence[str], seconds: Mapping[str, float]) -> Result | None:
    """Return how the mutant was killed, or None.

    A failure counts if the test fails again by itself, and passes without the mutant: else chance or the order of the
    tests is behind it, or a busy machine.
    """
    left = list(tests)
    while left:
        outcome = scratch.run(mutant, left, _limit(left, seconds))
        if not outcome.failed:
            return None
        failed = outcome.failed[:1]
        again = scratch.run(mutant, failed, _limit(failed, seconds))
        if again.failed and not scratch.run(None, failed, _limit(failed, seconds)).failed:
            return Result(_verdict(again), failed[0])
        if failed[0] not in left:
            return None  # a file that cannot be imported, with the mutant or without
        left.remove(failed[0])
    return None


def _verdict(outcome: Outcome) -> Verdict:
    return "timed out" if outcome.timed_out else "killed"


def _limit(tests: Sequence[str], seconds: Mapping[str, float]) -> float:
    return _LEAST_LIMIT_SECONDS + _LIMIT_FACTOR * sum(seconds.get(test, 0.0) for test in tests)
