"""Measures kaa, and every other agent found on this machine, against a model's server without latency.

    python benchmarks/run.py                         everything
    python benchmarks/run.py one_turn tool_turns     some of it
    python benchmarks/run.py --json results.json     and keep the figures

Needs Linux. What is measured and how is described in docs/benchmarks.md.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import msgspec

# Run as a script, Python would look for `benchmarks` and `tests` beside this file.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks import (  # noqa: E402 - only found after the line above
    checkpoints,
    child_agents,
    code_mode,
    compaction,
    completion,
    condensed_output,
    first_request,
    full_homes,
    large_repositories,
    long_answer,
    model_catalogue,
    one_turn,
    prefix_stability,
    result_masking,
    sandbox,
    session_page,
    session_store,
    start_up,
    terminal_extensions,
    terminal_input,
    terminal_mcp,
    terminal_session,
    terminal_start,
    terminal_stream,
    tool_turns,
)
from benchmarks.agents import AGENTS, CLAUDE  # noqa: E402
from benchmarks.bench import Bench, Result  # noqa: E402
from benchmarks.model_process import ModelProcess  # noqa: E402
from benchmarks.process_tree import RunFailedError, adopt_orphans, exempt_children  # noqa: E402
from benchmarks.report import BUSY_LOAD, Report, describe_machine, table  # noqa: E402
from tests.support.program import NotShownError  # noqa: E402

_MEASUREMENTS = {
    "start_up": start_up.measure,
    "one_turn": one_turn.measure,
    "tool_turns": tool_turns.measure,
    "first_request": first_request.measure,
    "code_mode": code_mode.measure,
    "completion": completion.measure,
    "prefix_stability": prefix_stability.measure,
    "long_answer": long_answer.measure,
    "model_catalogue": model_catalogue.measure,
    "sandbox": sandbox.measure,
    "session_store": session_store.measure,
    "session_page": session_page.measure,
    "checkpoints": checkpoints.measure,
    "compaction": compaction.measure,
    "result_masking": result_masking.measure,
    "condensed_output": condensed_output.measure,
    "child_agents": child_agents.measure,
    "full_homes": full_homes.measure,
    "large_repositories": large_repositories.measure,
    "terminal_start": terminal_start.measure,
    "terminal_extensions": terminal_extensions.measure,
    "terminal_mcp": terminal_mcp.measure,
    "terminal_stream": terminal_stream.measure,
    "terminal_session": terminal_session.measure,
    "terminal_input": terminal_input.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="measurement", help=", ".join(_MEASUREMENTS))
    parser.add_argument("--rounds", type=int, default=7, help="repetitions after a warm-up (default 7)")
    parser.add_argument("--only", metavar="A,B", help="only these agents")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(_MEASUREMENTS):
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}")
    names = arguments.names or list(_MEASUREMENTS)
    only = arguments.only.split(",") if arguments.only else []
    if unknown := set(only) - {agent.name for agent in (*AGENTS, CLAUDE)}:
        parser.error(f"no such agent: {', '.join(sorted(unknown))}")

    if (load := os.getloadavg()[0]) > BUSY_LOAD:
        _say(f"this machine is busy (load {load:.1f}): times will be longer than they should be")
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder, ModelProcess() as server:
        exempt_children()
        bench = Bench(Path(folder), server, arguments.rounds, _say, only)
        results: list[Result] = []
        failed = []
        for name in names:
            _say(f"measuring {name} …")
            try:
                results += bench.results(_MEASUREMENTS[name])
            except (RunFailedError, NotShownError) as error:
                _say(f"{name} failed: {error}")
                failed.append(name)
        report = Report(describe_machine(), bench.versions, results)
    print(table(report))
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    missed = [result.measure for result in results if result.is_met is False]
    return 1 if missed or failed else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
