"""What condensing a conversation costs of kaa's own time, in a thread beside the core, besides the model's.

All of it is kaa's own code on a conversation that fills a window of 200,000 tokens, in a session of 1,000 turns.
"""

import random
import statistics
import time
from collections.abc import Callable

from benchmarks.bench import Bench, Result
from kaa.core.messages import AssistantMessage, Message, TextContent, ToolCall, ToolResultMessage, Usage, user_message
from kaa.core.usage import ContextMeter
from kaa.session.compaction.budget import piece_tokens, share_out
from kaa.session.compaction.plan import plan_compaction
from kaa.session.compaction.serialization import passages, pieces
from kaa.session.compaction.steps import read_steps
from kaa.session.compaction.verbatim import choose_words, users_words
from kaa.session.context import build_context
from kaa.session.entries import Compaction, MessageEntry
from kaa.session.file.file_store import FileStore
from kaa.session.store import new_header

_WINDOW = 200_000
_TURNS = 1_000
# So that what is in context fills the window: the turns before were condensed already.
_TURNS_IN_CONTEXT = 400
_WORDS = (
    "the",
    "parser",
    "reads",
    "a",
    "line",
    "and",
    "returns",
    "what",
    "it",
    "can",
    "understand",
    "src/kaa/store.py",
)


def measure(bench: Bench) -> list[Result]:
    path = bench.folder / "compaction.jsonl"
    store = FileStore.create(path, new_header("/home/u/project"))
    chance = random.Random(0)
    for turn in range(_TURNS):
        ids = [store.append(MessageEntry(message=message))[0] for message in _turn(turn, chance)]
        if turn == _TURNS - _TURNS_IN_CONTEXT:
            store.append(Compaction(summary=_text(chance, 800), first_kept_entry_id=ids[0], tokens_before=_WINDOW))
    tree = store.tree
    budget = share_out(_WINDOW, 3_000, 16_384, 20_000)
    messages = build_context(store).messages
    previous, steps = read_steps(store, tree.path())
    plan = plan_compaction(steps, previous, budget.keep, budget.most)
    assert plan is not None
    dropped = plan.dropped
    meter = ContextMeter(3_000)
    meter.measure(messages, _WINDOW)
    room = piece_tokens(_WINDOW, budget.summary)
    scenes: dict[str, Callable[[], object]] = {
        "read what is in context and decide what goes": lambda: plan_compaction(
            read_steps(store, tree.path())[1], previous, budget.keep, budget.most
        ),
        "put what goes into words for the model": lambda: list(pieces(passages(dropped), room)),
        "find the user's own words": lambda: choose_words(users_words(store, tree.path(), {}), budget.carried),
    }
    tokens = meter.measure(messages, _WINDOW).tokens
    results = [Result("the conversation, estimated", "tokens", {"kaa": float(tokens)})]
    results += [Result(name, "ms", {"kaa": _median_ms(scene, bench.rounds)}) for name, scene in scenes.items()]
    check = _median_ms(lambda: meter.measure(messages, _WINDOW), bench.rounds * 100) * 1e3
    results.append(Result("ask before a request whether it is time", "µs", {"kaa": check}))
    store.release()
    return results


def _median_ms(scene: Callable[[], object], rounds: int) -> float:
    samples = []
    for _ in range(rounds):
        started = time.perf_counter()
        scene()
        samples.append(time.perf_counter() - started)
    return statistics.median(samples) * 1e3


def _turn(number: int, chance: random.Random) -> list[Message]:
    call = ToolCall(f"call_{number}", "bash", {"command": _text(chance, 8)})
    told = (TextContent(_text(chance, 20)), call)
    result = (TextContent(_text(chance, 250)),)
    return [
        user_message(_text(chance, 15)),
        AssistantMessage(told, "openai-completions", "lab", "m", Usage(), "toolUse"),
        ToolResultMessage(call.id, "bash", result, is_error=False),
        AssistantMessage((TextContent(_text(chance, 30)),), "openai-completions", "lab", "m", Usage(), "stop"),
    ]


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))
