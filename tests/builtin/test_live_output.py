"""Live output is bounded, seldom, complete where it can be, and honest where it cannot."""

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.live_output import StreamedOutput
from tests.support.agents import run
from tests.support.toolbox import RecordedRun


def updates(work: Callable[[StreamedOutput], None]) -> list[tuple[str, int]]:
    async def scenario() -> list[tuple[str, int]]:
        recorded = RecordedRun()
        live = StreamedOutput(recorded.update)
        work(live)
        live.close()
        return recorded.updates

    return run(scenario())


def test_the_first_output_is_shown_at_once_and_the_rest_together() -> None:
    def work(live: StreamedOutput) -> None:
        for number in range(100):
            live.feed(f"{number} ".encode())

    shown = updates(work)

    assert shown == [("0 ", 0), ("".join(f"{number} " for number in range(1, 100)), 0)]


def test_output_that_comes_too_fast_is_dropped_and_counted() -> None:
    def work(live: StreamedOutput) -> None:
        live.feed(b"start")
        for _ in range(1000):
            live.feed(b"x" * 999 + b"\n")

    (first, (text, skipped)) = updates(work)

    assert first == ("start", 0)
    assert len(text) == 8 * 1024
    assert skipped + len(text) == 1_000_000


def test_dropping_never_cuts_a_character_in_two() -> None:
    def work(live: StreamedOutput) -> None:
        live.feed(b"start")
        live.feed("é".encode() * 5000 + b"x")

    ((_, _), (text, skipped)) = updates(work)

    assert text == "é" * 4095 + "x"
    assert skipped == 2 * 905


def test_characters_are_decoded_across_chunks() -> None:
    def work(live: StreamedOutput) -> None:
        for byte in "é→\U0001f600".encode():
            live.feed(bytes([byte]))

    assert "".join(text for text, _ in updates(work)) == "é→\U0001f600"


def test_a_character_that_never_ends_is_shown_as_broken() -> None:
    assert updates(lambda live: live.feed(b"a\xc3"))[-1] == ("\ufffd", 0)


def test_nothing_is_shown_of_silence() -> None:
    assert updates(lambda live: None) == []


@given(st.lists(st.binary(max_size=20_000), max_size=6))
def test_every_byte_is_shown_or_counted(chunks: list[bytes]) -> None:
    ascii_chunks = [bytes(byte & 0x7F for byte in chunk) for chunk in chunks]

    def work(live: StreamedOutput) -> None:
        for chunk in ascii_chunks:
            live.feed(chunk)

    shown = updates(work)

    assert sum(len(text) + skipped for text, skipped in shown) == sum(map(len, chunks))
    assert all(len(text) <= 8 * 1024 for text, _ in shown)


def test_waiting_output_is_shown_by_itself_after_a_while() -> None:
    async def scenario() -> list[tuple[str, int]]:
        recorded = RecordedRun()
        live = StreamedOutput(recorded.update)
        live.feed(b"one")
        live.feed(b"two")
        while len(recorded.updates) < 2:
            await asyncio.sleep(0.01)
        live.close()
        return recorded.updates

    assert run(scenario()) == [("one", 0), ("two", 0)]
