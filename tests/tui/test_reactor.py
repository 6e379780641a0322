import os
import select
import signal
import threading
from collections.abc import Iterator

import pytest

from kaa.tui.reactor import Reactor


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    made = Reactor()
    yield made
    made.close()


def test_input_is_reported_until_nobody_watches(reactor: Reactor) -> None:
    out, into = os.pipe()
    seen: list[bytes] = []

    def read() -> None:
        seen.append(os.read(out, 100))
        if len(seen) == 2:
            reactor.unwatch(out)
            reactor.call_later(0, reactor.stop)
        os.write(into, b"more")

    reactor.watch(out, read)
    os.write(into, b"first")
    reactor.run()
    os.close(out)
    os.close(into)

    assert seen == [b"first", b"more"]


def test_timers_come_in_the_order_of_their_times(reactor: Reactor) -> None:
    seen: list[str] = []
    reactor.call_later(0.02, reactor.stop)
    reactor.call_later(0.01, lambda: seen.append("late"))
    reactor.call_later(0, lambda: seen.append("first"))
    reactor.call_later(0.005, lambda: seen.append("cancelled")).cancel()

    reactor.run()

    assert seen == ["first", "late"]


def test_a_timer_of_a_callback_can_be_cancelled_by_another_that_is_due_with_it(reactor: Reactor) -> None:
    seen: list[str] = []

    def cancel() -> None:
        second.cancel()

    reactor.call_later(0, cancel)
    second = reactor.call_later(0, lambda: seen.append("second"))
    reactor.call_later(0, reactor.stop)

    reactor.run()

    assert seen == []


def test_input_goes_before_timers_that_are_due(reactor: Reactor) -> None:
    out, into = os.pipe()
    seen: list[str] = []

    def read() -> None:
        seen.append("input")
        reactor.unwatch(out)

    def stop() -> None:
        seen.append("timer")
        reactor.stop()

    reactor.watch(out, read)
    reactor.call_later(0, stop)
    os.write(into, b"x")

    reactor.run()
    os.close(out)
    os.close(into)

    assert seen == ["input", "timer"]


def test_other_threads_post_in_order_and_nothing_is_lost(reactor: Reactor) -> None:
    seen: list[int] = []

    def post() -> None:
        for number in range(20_000):
            reactor.post(lambda number=number: seen.append(number))  # type: ignore[misc]  # a default argument
        reactor.post(reactor.stop)

    thread = threading.Thread(target=post)
    thread.start()
    reactor.run()
    thread.join()

    assert seen == list(range(20_000))


def test_a_callback_that_posts_itself_does_not_starve_the_rest(reactor: Reactor) -> None:
    def again() -> None:
        reactor.post(again)

    reactor.post(again)
    reactor.call_later(0.001, reactor.stop)

    reactor.run()


def test_signals_are_handled_in_the_loop(reactor: Reactor) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    inside = False
    seen: list[bool] = []

    def take() -> None:
        seen.append(inside)
        reactor.stop()

    reactor.on_signal(signal.SIGUSR1, take)

    def send() -> None:
        nonlocal inside
        inside = True
        os.kill(os.getpid(), signal.SIGUSR1)
        inside = False

    reactor.post(send)
    reactor.run()
    reactor.close()

    assert seen == [False]
    assert signal.getsignal(signal.SIGUSR1) == before


def test_signals_that_are_ignored_for_a_while_are_not_heard_of_afterwards(reactor: Reactor) -> None:
    seen: list[str] = []
    reactor.on_signal(signal.SIGUSR1, lambda: seen.append("ignored"))
    reactor.on_signal(signal.SIGUSR2, lambda: seen.append("heard"))

    def work() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGUSR2)
        reactor.post(lambda: seen.append("posted"))
        reactor.call_later(0.001, reactor.stop)

    reactor.ignoring([signal.SIGUSR1], work)
    reactor.run()
    assert sorted(seen) == ["heard", "posted"]

    os.kill(os.getpid(), signal.SIGUSR1)
    reactor.call_later(0.001, reactor.stop)
    reactor.run()
    assert seen[2:] == ["ignored"]


def test_a_signal_that_the_loop_does_not_get_to_goes_to_whoever_had_it_before(reactor: Reactor) -> None:
    before: list[int] = []
    old = signal.signal(signal.SIGUSR1, lambda number, _: before.append(number))
    reactor.on_signal(signal.SIGUSR1, reactor.stop)

    for expected in ([], [signal.SIGUSR1]):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert before == expected
    reactor.run()

    os.kill(os.getpid(), signal.SIGUSR1)
    assert before == [signal.SIGUSR1]
    reactor.close()
    signal.signal(signal.SIGUSR1, old)


def test_an_exception_comes_out_of_run_and_the_rest_is_still_to_be_done(reactor: Reactor) -> None:
    seen: list[str] = []

    def fail() -> None:
        raise LookupError("no")

    reactor.post(fail)
    reactor.post(lambda: seen.append("rest"))
    reactor.post(reactor.stop)

    with pytest.raises(LookupError):
        reactor.run()
    reactor.run()

    assert seen == ["rest"]


def test_stopped_before_it_runs_it_does_not_run(reactor: Reactor) -> None:
    seen: list[int] = []
    reactor.post(lambda: seen.append(1))
    reactor.stop()

    reactor.run()

    assert seen == []


def test_it_sleeps_while_there_is_nothing_to_do(reactor: Reactor, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0
    turn = Reactor._turn

    def count(self: Reactor) -> None:
        nonlocal turns
        turns += 1
        turn(self)

    monkeypatch.setattr(Reactor, "_turn", count)
    reactor.call_later(0.2, reactor.stop)
    reactor.run()

    # The timer; `select` may wake a moment before it is due.
    assert turns <= 3


def test_posting_to_a_closed_one_writes_nowhere() -> None:
    reactor = Reactor()
    reactor.close()
    out, into = os.pipe()
    os.set_blocking(out, False)

    reactor.post(lambda: None)

    with pytest.raises(BlockingIOError):
        os.read(out, 1)
    os.close(out)
    os.close(into)


def test_what_is_posted_while_the_wake_up_is_taken_does_not_keep_the_next_from_waking(
    reactor: Reactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, wait = os.read, select.select
    waited: list[list[int]] = []

    def read_late(fd: int, size: int) -> bytes:
        reactor.post(lambda: None)  # another thread, at the worst moment
        return read(fd, size)

    def wait_for_a_post(readers: list[int], writers: object, errors: object, timeout: float | None) -> object:
        if timeout is not None:
            return wait(readers, (), (), timeout)
        monkeypatch.setattr(os, "read", read)
        reactor.post(reactor.stop)
        waited.append(wait(readers, (), (), 1)[0])
        return waited[-1], [], []

    monkeypatch.setattr(os, "read", read_late)
    monkeypatch.setattr(select, "select", wait_for_a_post)
    reactor.post(lambda: None)
    reactor.run()

    assert [len(ready) for ready in waited] == [1]
