"""What sessions cost: opening long ones, appending to them, listing and searching thousands.

All of it is kaa's own code in a process of its own each time, with the files in the system's cache. Nothing here is
compared with others: none of them has these parts to be called.
"""

import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.bench import Bench, Result
from kaa.core.messages import AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage, user_message
from kaa.session.catalogue.catalogue import Catalogue
from kaa.session.catalogue.places import SessionRoot
from kaa.session.context import build_context
from kaa.session.entries import Entry, MessageEntry
from kaa.session.file.append_file import create_private_folders
from kaa.session.file.file_store import FileStore
from kaa.session.naming import file_name, folder_name
from kaa.session.store import new_header

_CWD = "/home/u/project"
_SESSIONS = 2_000
_APPENDS = 300

# As many turns as the names say, with four entries in each, as large as they are in real sessions.
_TURNS_OF_2_5_MB = 1_000
TURNS_OF_100_MB = 40_000
_TURNS_OF_50_KB = 20

_WORDS = tuple(
    "the parser reads a line and returns what it can understand of it import os def read_head self value None "  # noqa: SIM905 - to be read
    "error in src/kaa/session/store.py assert len tree == 3 FAILED tests passed return index buffer offset".split()
)


def measure(bench: Bench) -> list[Result]:
    folder = bench.folder / "session_store"
    folder.mkdir()
    written = {name: write_long_session(folder / f"{name}.jsonl", turns) for name, turns in _LONG.items()}
    _write_sessions(folder / "sessions")
    results = [
        *_opening("1,000 turns", written["short"], 50, bench.rounds),
        *_opening("40,000 turns", written["long"], 1_500, bench.rounds),
        *_appending(written, bench.rounds),
    ]
    return [*results, *_cataloguing(folder, bench.rounds)]


_LONG = {"short": _TURNS_OF_2_5_MB, "long": TURNS_OF_100_MB}


def _opening(name: str, path: Path, target_ms: float, rounds: int) -> Iterator[Result]:
    size = f"{name} ({path.stat().st_size / 1e6:.1f} MB)"
    samples = [_elsewhere("opening", path) for _ in range(rounds)]
    yield Result(f"open a session of {size}", "ms", _median(samples, "open_ms"), target=target_ms)
    yield Result("  and rebuild its context", "ms", _median(samples, "context_ms"))
    yield Result("  memory of the open session, without its context", "MB", _median(samples, "open_mb"))


def _appending(written: dict[str, Path], rounds: int) -> Iterator[Result]:
    for name, path in written.items():
        samples = [_elsewhere("appending", path) for _ in range(rounds)]
        yield Result(f"append an entry to the {name} one", "µs", _median(samples, "append_us"))


def _cataloguing(folder: Path, rounds: int) -> Iterator[Result]:
    first = [_elsewhere("first_list", folder) for _ in range(3)]
    size = f"{_SESSIONS:,} sessions of {first[0]['kb']:.0f} KB"
    yield Result(f"list {size} for the first time", "s", _median(first, "list_s"))
    yield Result("  size of the cache", "MB", _median(first, "cache_mb"))
    known = [_elsewhere("known_list", folder) for _ in range(rounds)]
    yield Result("list them again", "ms", _median(known, "list_ms"), target=50)
    yield Result("list them after one of them grew", "ms", _median(known, "grown_ms"))
    yield Result("search them for a name in code", "ms", _median(known, "search_ms"))
    yield Result("search them for a word that nobody said", "ms", _median(known, "nothing_ms"))
    yield Result("search them for two letters", "ms", _median(known, "short_ms"))
    yield Result("search them for a regular expression", "ms", _median(known, "regex_ms"))


def _median(samples: list[dict[str, float]], key: str) -> dict[str, float | None]:
    return {"kaa": statistics.median(sample[key] for sample in samples)}


def _elsewhere(scene: str, path: Path) -> dict[str, float]:
    """Play a scene in a process of its own: what one measured must not have warmed up the next."""
    command = [sys.executable, "-m", "benchmarks.session_store", scene, str(path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=dict[str, float])


def _opening_scene(path: Path) -> dict[str, float]:
    before = _memory_mb()
    started = time.perf_counter()
    store = FileStore.open(path)
    opened = time.perf_counter()
    memory = _memory_mb() - before
    build_context(store)
    done = time.perf_counter()
    store.release()
    return {"open_ms": (opened - started) * 1e3, "context_ms": (done - opened) * 1e3, "open_mb": memory}


def _appending_scene(path: Path) -> dict[str, float]:
    store = FileStore.open(path)
    entries = [entry for turn in range(_APPENDS // 4) for entry in _turn(turn, random.Random(turn))]
    size = path.stat().st_size
    samples = []
    for entry in entries:
        started = time.perf_counter()
        store.append(entry)
        samples.append(time.perf_counter() - started)
    store.release()
    os.truncate(path, size)
    return {"append_us": statistics.median(samples) * 1e6}


def _first_list_scene(folder: Path) -> dict[str, float]:
    cache = folder / "cache" / "sessions.sqlite3"
    for file in cache.parent.glob("*"):
        file.unlink()
    started = time.perf_counter()
    with _catalogue(folder) as catalogue:
        sessions = catalogue.summaries("everywhere")
        listed = time.perf_counter()
    assert len(sessions) == _SESSIONS
    return {
        "list_s": listed - started,
        "cache_mb": sum(file.stat().st_size for file in cache.parent.glob("*")) / 1e6,
        "kb": statistics.mean(session.size for session in sessions) / 1e3,
    }


def _known_list_scene(folder: Path) -> dict[str, float]:
    taken: dict[str, float] = {}
    started = time.perf_counter()
    with _catalogue(folder) as catalogue:
        sessions = catalogue.summaries("everywhere")
    taken["list_ms"] = (time.perf_counter() - started) * 1e3
    store = FileStore.open(sessions[-1].path)
    store.append(MessageEntry(message=user_message("one more")))
    store.release()
    started = time.perf_counter()
    with _catalogue(folder) as catalogue:
        catalogue.summaries("everywhere")
    taken["grown_ms"] = (time.perf_counter() - started) * 1e3
    queries = {"search_ms": "read_head", "nothing_ms": "zzqqzz", "short_ms": "os", "regex_ms": r"re:read_\w+ self"}
    for key, query in queries.items():
        started = time.perf_counter()
        with _catalogue(folder) as catalogue:
            assert bool(catalogue.search(query, "everywhere", 50)) == (key != "nothing_ms")
        taken[key] = (time.perf_counter() - started) * 1e3
    return taken


def _catalogue(folder: Path) -> Catalogue:
    return Catalogue(folder / "cache" / "sessions.sqlite3", [SessionRoot(folder / "sessions", "kaa")], _CWD)


def _memory_mb() -> float:
    """What is in memory now; the largest so far would be that of the process this one was started from."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def _write_sessions(root: Path) -> None:
    folder = root / folder_name(_CWD)
    for number in range(_SESSIONS):
        header = new_header(_CWD)
        write_long_session(folder / file_name(header.timestamp, header.id), _TURNS_OF_50_KB, seed=number)


def write_long_session(path: Path, turns: int, seed: int = 0) -> Path:
    """A session of so many turns, each with a call of a tool; the same for the same seed."""
    create_private_folders(path.parent)
    random_words = random.Random(seed)
    store = FileStore.create(path, new_header(_CWD))
    for turn in range(turns):
        store.append(*_turn(turn, random_words))
    store.release()
    return path


def _turn(number: int, chance: random.Random) -> Iterator[Entry]:
    call = ToolCall(f"call_{number}", "bash", {"command": _text(chance, 8)})
    usage = Usage(1_000, 50, 30_000, 200, 31_250)
    told = (TextContent(_text(chance, 20)), call)
    yield MessageEntry(message=user_message(_text(chance, 15)))
    yield MessageEntry(message=AssistantMessage(told, "openai-completions", "lab", "m", usage, "toolUse"))
    output = "\n".join(_text(chance, 12) for _ in range(12))
    yield MessageEntry(message=ToolResultMessage(call.id, "bash", (TextContent(output),), is_error=False))
    answer = (TextContent(_text(chance, 30)),)
    yield MessageEntry(message=AssistantMessage(answer, "openai-completions", "lab", "m", usage, "stop"))


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


_SCENES = {
    "opening": _opening_scene,
    "appending": _appending_scene,
    "first_list": _first_list_scene,
    "known_list": _known_list_scene,
}


if __name__ == "__main__":
    print(msgspec.json.encode(_SCENES[sys.argv[1]](Path(sys.argv[2]))).decode())
