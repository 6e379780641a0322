"""Long conversations: going on with one of 10,000 messages, and what a resize does to one that has been written."""

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench, Result, Runner, percentile
from benchmarks.markdown_answer import numbered_lines, tokens
from benchmarks.seat import MARK
from tests.support.model_server import say
from tests.support.screen import Screen

_MESSAGES = 10_000
_TOKENS_PER_MESSAGE = 185  # 7.7 MB in all
_ECHOES = 30

_LINES_BEFORE, _PARAGRAPHS = 40, 60
_SETTLE_SECONDS = 1.0


def measure(bench: Bench) -> list[Result]:
    resumable = [one for one in bench.participants if one.agent.terminal.resume is not None]
    resumed = bench.collect(lambda runner: _resume(bench, runner), resumable, rounds=2)
    on_main_screen = [one for one in bench.participants if one.agent.terminal.on_main_screen is not None]
    resized = bench.collect(lambda runner: _resize(bench, runner), on_main_screen, rounds=1)
    messages = f"{_MESSAGES:,} messages"
    return [
        Result(f"{messages}, exec to the last one", "s", percentile(resumed["shown"], 50), target=0.6),
        Result(f"{messages}, memory (PSS)", "MB", percentile(resumed["memory"], 50), target=120),
        Result(f"{messages}, key shown, p50", "ms", percentile(resumed["echo"], 50), target=2),
        Result("lines lost by 30 → 20 → 30 rows", "lines", percentile(resized["lost"], 50), target=0),
        Result("lines doubled by 30 → 20 → 30 rows", "lines", percentile(resized["doubled"], 50), target=0),
    ]


def _resume(bench: Bench, runner: Runner) -> Mapping[str, Sequence[float]]:
    bench.server.begin([say("Hello.")])
    runner.run(*runner.agent.prompt, "Hello.")  # some agents can only lengthen a session that they have begun
    text = "".join(tokens(_TOKENS_PER_MESSAGE))
    *earlier, last = (f"Message {number}. {text}" for number in range(_MESSAGES))
    arguments = runner.resume([*earlier, f"{last}\n\nThe very last line."]) or ()
    with runner.open(*arguments) as seat:
        seat.wait_for_box()
        shown = seat.wait_for("The very last line.")
        seat.type_until_shown(MARK)
        seat.look(_SETTLE_SECONDS)
        echoes = seat.echoes(_ECHOES, 0.05)
        return {"shown": [shown / 1000], "memory": [seat.megabytes], "echo": echoes}


def _resize(bench: Bench, runner: Runner) -> Mapping[str, Sequence[float]]:
    """What was in the terminal before, and an answer, are still there after the resize, and once."""
    bench.server.begin([say(numbered_lines(_PARAGRAPHS, "answer"))])
    before = f"seq -f 'before-%03g' {_LINES_BEFORE}"
    with runner.open(*(runner.agent.terminal.on_main_screen or ()), before=before) as seat:
        seat.wait_for_box()
        seat.program.wait_until_quiet()
        seat.ask("go on")
        seat.wait_for(f"answer-{_PARAGRAPHS - 1:03d}")
        seat.program.wait_until_quiet()
        for rows in (20, 30):
            seat.program.resize(100, rows)
            seat.look(_SETTLE_SECONDS)
        counts = _numbered(seat.screen)
        expected = [f"before-{number + 1:03d}" for number in range(_LINES_BEFORE)]
        expected += [f"answer-{number:03d}" for number in range(_PARAGRAPHS)]
        return {
            "lost": [sum(counts[label] == 0 for label in expected)],
            "doubled": [sum(max(0, counts[label] - 1) for label in expected)],
        }


def _numbered(screen: Screen) -> Counter[str]:
    words = " ".join(screen.everything()).split()
    return Counter(word for word in words if word.startswith(("before-", "answer-")))
