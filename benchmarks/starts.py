"""The start in a terminal and a turn without one, of agents in homes or projects that were prepared for them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from benchmarks.bench import Bench, Participant, Result, Runner
from benchmarks.one_turn import printed_turn
from benchmarks.terminal_start import first_key

# Takes figures, by their names.
Take: TypeAlias = Callable[[Runner], Mapping[str, float]]

_UNITS = {
    "exec to input box": "ms",
    "exec to first key shown": "ms",
    "exec to first request of -p": "ms",
    "one turn, wall": "s",
    "one turn, CPU": "s",
    "first request, body": "bytes",
}


def measure_starts(
    bench: Bench,
    title: str,
    prepare: Callable[[Runner], Runner],
    participants: Sequence[Participant],
    *,
    more: Take = lambda _runner: {},
    units: Mapping[str, str] | None = None,
) -> list[Result]:
    """Measure agents where `prepare` puts them, each of which is called once.

    Args:
        bench: the agents.
        title: of the place, for the results.
        prepare: makes the agent with another home or project.
        participants: who takes part.
        more: takes further figures there.
        units: of these.
    """
    ready: dict[str, Runner] = {}

    def figures(runner: Runner) -> Mapping[str, float]:
        if runner.name not in ready:
            ready[runner.name] = prepare(runner)
        there = ready[runner.name]
        painted, echoed = first_key(there)
        turn = printed_turn(there)
        size = len(there.requests()[0].body)
        own = zip(_UNITS, (painted, echoed, turn["asked"], turn["wall"], turn["cpu"], size), strict=True)
        return {**dict(own), **more(there)}

    taken = bench.samples(figures, participants)
    return [Result(f"{name}, {title}", unit, taken[name]) for name, unit in {**_UNITS, **(units or {})}.items()]
