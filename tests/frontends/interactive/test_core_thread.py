import asyncio
import queue
import threading
from collections.abc import Callable

import pytest

from kaa.frontends.interactive.core_thread import CoreThread
from tests.support.patience import HANG_SECONDS


class Core:
    """Knows who called it and whether it was closed."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.closed = False
        self.stopped_work: list[str] = []

    async def add(self, one: int, other: int) -> int:
        await asyncio.sleep(0)
        assert threading.get_ident() == self.thread
        return one + other

    async def wait_forever(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped_work.append("waiting")


class Surface:
    """The other thread: takes what is posted to it, one by one."""

    def __init__(self, make: Callable[[], Core] = Core) -> None:
        self.calls: queue.Queue[Callable[[], None]] = queue.Queue()
        self.crashes: list[BaseException] = []
        self.cores: list[Core] = []

        def made() -> Core:
            self.cores.append(make())
            return self.cores[-1]

        async def close(core: Core) -> None:
            core.closed = True

        self.core = CoreThread(made, close, self.calls.put, self.crashes.append)

    def take(self) -> None:
        self.calls.get(timeout=HANG_SECONDS)()


def test_results_come_back_in_the_thread_of_who_asked() -> None:
    surface = Surface()
    surface.core.start()
    got: list[tuple[int, int]] = []

    surface.core.call(lambda core: core.add(1, 2), lambda sum_: got.append((sum_, threading.get_ident())))
    surface.take()

    assert got == [(3, threading.get_ident())]
    assert surface.core.stop(10)


def test_what_is_asked_before_the_core_is_there_waits_and_keeps_its_order() -> None:
    surface = Surface()
    got: list[int] = []
    for number in range(5):
        surface.core.call(lambda core, number=number: core.add(number, 0), got.append)  # type: ignore[misc]  # a default argument

    surface.core.start()
    for _ in range(5):
        surface.take()

    assert got == [0, 1, 2, 3, 4]
    assert surface.core.stop(10)


def test_a_core_that_is_being_made_need_not_be_waited_for() -> None:
    goes_on = threading.Event()

    def make() -> Core:
        goes_on.wait(HANG_SECONDS)
        return Core()

    surface = Surface(make)
    surface.core.start()

    assert not surface.core.is_there
    assert not surface.core.stop(0.01)
    goes_on.set()
    assert surface.core.stop(10)
    assert surface.core.is_there


def test_what_closing_failed_with_is_kept_for_when_nobody_listens() -> None:
    async def close(_core: Core) -> None:
        raise OSError("the disk is full")

    core = CoreThread(Core, close, lambda _: None, lambda _: None)
    core.start()

    assert core.stop(10)
    assert str(core.failure) == "the disk is full"


def test_a_core_that_ended_is_asked_in_vain() -> None:
    surface = Surface()
    surface.core.start()
    assert surface.core.stop(10)

    surface.core.call(lambda core: core.add(1, 2))

    assert surface.core.failure is None


def test_failures_come_back_to_who_asked() -> None:
    surface = Surface()
    surface.core.start()
    errors: list[BaseException] = []

    async def fail(_core: Core) -> None:
        raise ValueError("no")

    surface.core.call(fail, failed=errors.append)
    surface.take()
    surface.core.call(fail)
    surface.take()

    assert [str(error) for error in errors] == ["no"]
    assert [str(error) for error in surface.crashes] == ["no"]
    assert surface.core.stop(10)


def test_stopping_closes_the_core_and_cancels_what_goes_on() -> None:
    surface = Surface()
    surface.core.start()
    surface.core.call(lambda core: core.wait_forever())
    surface.core.call(lambda core: core.add(1, 1), lambda _: None)
    surface.take()

    assert surface.core.stop(10)

    (core,) = surface.cores
    assert core.closed
    assert core.stopped_work == ["waiting"]


def test_a_core_that_cannot_be_made_is_reported() -> None:
    def make() -> Core:
        raise ImportError("no such module")

    surface = Surface(make)
    surface.core.start()
    surface.take()

    assert [str(error) for error in surface.crashes] == ["no such module"]
    assert surface.core.stop(10)


@pytest.mark.parametrize("asked", [0, 1])
def test_stopping_at_once_after_starting_loses_nothing(asked: int) -> None:
    surface = Surface()
    done: list[int] = []
    for _ in range(asked):
        surface.core.call(lambda core: core.add(1, 1), done.append)
    surface.core.start()

    assert surface.core.stop(10)
    assert surface.cores[0].closed


def test_stopping_what_was_never_started_is_nothing() -> None:
    assert Surface().core.stop(1)
