"""The input of rpc mode: what a thread reads while the event loop takes its time, or has ended."""

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.frontends.rpc.lines import read_lines
from tests.support.patience import HANG_SECONDS

_FIRST = b"first"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    output, input_ = os.pipe()
    yield output, input_
    os.close(output)


async def _first_line(fd: int) -> object:
    return await anext(read_lines(fd))


def test_a_line_after_the_end_of_the_loop_ends_the_reader_in_silence(pipe: tuple[int, int]) -> None:
    output, input_ = pipe
    os.write(input_, _FIRST + b"\n")
    before = set(threading.enumerate())

    assert asyncio.run(_first_line(output)) == _FIRST
    (reader,) = set(threading.enumerate()) - before
    os.write(input_, b"second\n")  # a coroutine for this line would never be awaited: that is a warning, and an error
    os.close(input_)
    reader.join(HANG_SECONDS)

    assert not reader.is_alive()


def test_many_lines_arrive_in_order(tmp_path: Path) -> None:
    lines = [str(number).encode() for number in range(1000)]
    file = tmp_path / "input"
    file.write_bytes(b"\n".join(lines))

    async def all_lines() -> list[object]:
        with file.open("rb") as opened:
            return [line async for line in read_lines(opened.fileno())]

    assert asyncio.run(all_lines()) == lines
