"""A long answer that streams at a model's speed, while somebody types.

The answer is Markdown with everything in it. CPU is that of all processes of the agent from Enter to its last word,
scaled to 10,000 tokens; bytes are what it wrote to the terminal.
"""

from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner, percentile
from benchmarks.markdown_answer import END, table, tokens
from benchmarks.seat import MARK, Seat
from tests.support.model_server import Answer
from tests.support.screen import Screen

_SLOW, _FAST = 100, 500  # tokens per second

# About fifteen seconds of each.
_TOKENS = {_SLOW: 1_500, _FAST: 7_500}
_SCALE = 10_000

_BETWEEN_KEYS_SECONDS = 0.12
_TABLE_ROWS = 60


def measure(bench: Bench) -> list[Result]:
    slow = bench.collect(lambda runner: _stream(bench, runner, _SLOW), rounds=1)
    fast = bench.collect(lambda runner: _stream(bench, runner, _FAST), rounds=1)
    on_main_screen = [one for one in bench.participants if one.agent.terminal.on_main_screen is not None]
    wipes = bench.collect(lambda runner: _stream_table(bench, runner), on_main_screen, rounds=1)
    return [
        Result(f"CPU per 10,000 tokens at {_SLOW} tokens/s", "s", percentile(slow["cpu"], 50), target=6),
        Result(f"CPU per 10,000 tokens at {_FAST} tokens/s", "s", percentile(fast["cpu"], 50), target=3),
        Result(f"key shown at {_FAST} tokens/s, p50", "ms", percentile(fast["echo"], 50), target=2),
        Result(f"key shown at {_FAST} tokens/s, p99", "ms", percentile(fast["echo"], 99), target=30),
        Result(f"written per token at {_SLOW} tokens/s", "bytes", percentile(slow["bytes"], 50), target=150),
        Result(f"written per token at {_FAST} tokens/s", "bytes", percentile(fast["bytes"], 50)),
        Result(
            f"scrollback wiped while a table of {_TABLE_ROWS} rows streams",
            "times",
            percentile(wipes["wipes"], 50),
            target=0,
        ),
    ]


def _stream(bench: Bench, runner: Runner, rate: int) -> Mapping[str, Sequence[float]]:
    count = _TOKENS[rate]
    bench.server.begin([Answer(text=tokens(count))], rate)
    with runner.open() as seat:
        _ask(seat)
        cpu, received = seat.cpu_seconds, seat.program.received
        seat.wait_for("Part 0")
        seat.type_until_shown(MARK)
        echoes = seat.echoes(count, _BETWEEN_KEYS_SECONDS, until=_has_ended)
        seat.wait_for(END)
        scale = _SCALE / count
        return {
            "cpu": [(seat.cpu_seconds - cpu) * scale],
            "bytes": [(seat.program.received - received) / count],
            "echo": echoes,
        }


def _stream_table(bench: Bench, runner: Runner) -> Mapping[str, Sequence[float]]:
    bench.server.begin([Answer(text=table(_TABLE_ROWS))], _FAST)
    with runner.open(*(runner.agent.terminal.on_main_screen or ())) as seat:
        _ask(seat)
        wipes = seat.screen.wipes
        seat.wait_for(END)
        seat.program.wait_until_quiet()
        return {"wipes": [seat.screen.wipes - wipes]}


def _ask(seat: Seat) -> None:
    seat.wait_for_box()
    seat.program.wait_until_quiet()
    seat.ask("go on")


def _has_ended(screen: Screen) -> bool:
    return END in screen.text()
