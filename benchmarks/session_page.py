"""What a session of 100 MB costs as a page: writing it, and reading it in Chromium.

kaa's page alone. It is opened from a file in a browser with an empty profile, anew for every round.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench, Result
from benchmarks.process_tree import tree_pss
from benchmarks.session_store import TURNS_OF_100_MB, write_long_session
from kaa.session.export.page import write_page
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from tests.support.browser import Browser, Page, find_browser

# Said in every second entry or so of the sessions of the benchmark, so that the search reads and collects all it can.
_WORD = "parser"

_PAINTED = """new Promise((done) => {
  const look = () => {
    const [painted] = performance.getEntriesByName("first-contentful-paint");
    if (painted) done(painted.startTime);
    else setTimeout(look, 5);
  };
  look();
})"""
_NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def measure(bench: Bench) -> list[Result]:
    session = write_long_session(bench.folder / "session_page.jsonl", TURNS_OF_100_MB)
    page = bench.folder / "session_page.html"
    writing = [_write(session, page) for _ in range(bench.rounds)]
    size = f"{session.stat().st_size / 1e6:.0f} MB"
    results = [
        Result(f"write a session of {size} as a page", "s", {"kaa": statistics.median(writing)}, target=10),
        Result(
            "  size of the page, of the session's", "%", {"kaa": 100 * page.stat().st_size / session.stat().st_size}
        ),
    ]
    program = find_browser()
    if program is None:
        return results
    rounds = [_read(program, page) for _ in range(bench.rounds)]
    medians: dict[str, dict[str, float | None]]
    medians = {key: {"kaa": statistics.median(taken[key] for taken in rounds)} for key in rounds[0]}
    return [
        *results,
        Result("  opened in Chromium, to its first content", "ms", medians["painted_ms"]),
        Result("  to the end of the conversation, and keys", "s", medians["ready_s"], target=5),
        Result("  memory of the browser above an empty page (PSS)", "MB", medians["memory_mb"]),
        Result("  from the last message to the first", "ms", medians["first_ms"]),
        Result("  searched for a word, all of it", "s", medians["search_s"]),
        Result("  memory after that", "MB", medians["searched_mb"]),
    ]


def _write(session: Path, page: Path) -> float:
    started = time.perf_counter()
    with SnapshotFile.open(session) as source, page.open("wb") as out:
        write_page(source, ExportSelection(all_branches=True), out)
    return time.perf_counter() - started


def _read(program: str, file: Path) -> dict[str, float]:
    with Browser(program) as browser, browser.page() as page:
        empty = tree_pss(browser.process_id)
        ready = _seconds(lambda: page.open(file))
        painted = page.evaluate(_PAINTED)
        memory = tree_pss(browser.process_id)
        page.press("G")
        page.evaluate(_NEXT_FRAME)
        first = _seconds(lambda: _press(page, "g"))
        search = _seconds(lambda: _search(page))
        searched = tree_pss(browser.process_id)
        assert page.problems() == []
    return {
        "painted_ms": painted,
        "ready_s": ready,
        "memory_mb": (memory - empty) / 1e6,
        "first_ms": first * 1e3,
        "search_s": search,
        "searched_mb": (searched - empty) / 1e6,
    }


def _press(page: Page, key: str) -> None:
    page.press(key)
    page.evaluate(_NEXT_FRAME)


def _search(page: Page) -> None:
    page.press("/")
    page.send("Input.insertText", {"text": _WORD})
    page.wait_for(f"document.body.dataset.searched === {_WORD!r}")


def _seconds(action: Callable[[], None]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
