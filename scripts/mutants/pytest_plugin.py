"""A plugin of pytest that is copied into the environment of a scratch: which tests reach which probes, or which to run.

What to do stands in a file beside it, because a variable would reach the programs that the tests start.
"""

import json
import mmap
import os
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

ORDERS = Path(__file__).with_suffix(".json")
_orders: dict[str, Any] = json.loads(ORDERS.read_text())


class Selection:
    """Runs exactly some tests, and notes which begin and which fail."""

    def __init__(self, tests: Iterable[str], notes: Path) -> None:
        self._tests = set(tests)
        self._notes = notes

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave the others out."""
        others = [item for item in items if item.nodeid not in self._tests]
        items[:] = [item for item in items if item.nodeid in self._tests]
        config.hook.pytest_deselected(items=others)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note which test begins."""
        self._note("begun", nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails."""
        if report.failed:
            self._note("failed", report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported."""
        if report.failed:
            self._note("failed", report.nodeid)

    def _note(self, what: str, test: str) -> None:
        with self._notes.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, "test": test}) + "\n")


class Reach:
    """Notes which probes each test reaches, itself or by programs that it starts, and how long it takes.

    What the setup of a shared fixture reaches counts for all tests that use the fixture.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._own = _counters(folder / str(os.getpid()), count)
        self._others = _counters(folder / "others", count)
        self._tests = folder / f"tests-{os.getpid()}"
        self._fixtures: dict[object, set[int]] = {}
        self._outcomes: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what is reached from the setup to the end of the teardown."""
        before, started = self._snapshot(), time.monotonic()
        self._outcomes.clear()
        result = yield
        reached = self._reached_since(before)
        known = getattr(item, "_fixtureinfo", None)
        for definitions in known.name2fixturedefs.values() if known else ():
            for definition in definitions:
                reached |= self._fixtures.get(definition, set())
        outcome = "failed" if "failed" in self._outcomes else "skipped" if "skipped" in self._outcomes else "passed"
        noted = {
            "test": item.nodeid,
            "seconds": round(time.monotonic() - started, 3),
            "outcome": outcome,
            "reached": sorted(reached),
        }
        with self._tests.open("a") as file:
            file.write(json.dumps(noted) + "\n")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the outcome of a phase."""
        report = yield
        self._outcomes.add(report.outcome)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: "pytest.FixtureDef[Any]") -> Generator[None, object, object]:
        """Note what a fixture reaches that several tests share."""
        before = self._snapshot()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._fixtures[fixturedef] = self._reached_since(before)

    def _snapshot(self) -> tuple[bytes, bytes]:
        return bytes(self._own), bytes(self._others)

    def _reached_since(self, before: tuple[bytes, bytes]) -> set[int]:
        pairs = zip(before, self._snapshot(), strict=True)
        return {place for old, new in pairs for place in range(len(old) // 8) if old[_word(place)] != new[_word(place)]}


def _counters(path: Path, count: int) -> memoryview:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.fchmod(descriptor, 0o666)  # tests run kaa as other users
        os.truncate(descriptor, 8 * count)
        return memoryview(mmap.mmap(descriptor, 8 * count))
    finally:
        os.close(descriptor)


def _word(place: int) -> slice:
    return slice(8 * place, 8 * place + 8)


# Made when the plugin is imported, which is before the first import of kaa, whose probes look for the counters.
_plugin = (
    Reach(Path(_orders["folder"]), _orders["count"])
    if "folder" in _orders
    else Selection(_orders["tests"], Path(_orders["notes"]))
)


def pytest_configure(config: pytest.Config) -> None:
    """Use what the orders ask for."""
    config.pluginmanager.register(_plugin)
