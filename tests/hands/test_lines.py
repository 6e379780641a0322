from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.hands.lines import CHUNK_BYTES, Lines, slice_lines

_CONTENTS = st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r\n", b"defg\n"]), max_size=30).map(b"".join)


def _reader(data: bytes, piece_bytes: int = CHUNK_BYTES) -> Callable[[int], bytes]:
    position = 0

    def read(size: int) -> bytes:
        nonlocal position
        piece = data[position : position + min(size, piece_bytes)]
        position += len(piece)
        return piece

    return read


def _expected(data: bytes, start: int, max_lines: int, max_bytes: int) -> tuple[bytes, bool]:
    """The obvious way, with everything in memory: the data and whether something follows."""
    lines = data.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    taken: list[bytes] = []
    for line in lines[start - 1 : start - 1 + max_lines]:
        if sum(map(len, taken)) + len(line) > max_bytes:
            break
        taken.append(line)
    return b"".join(taken), start - 1 + len(taken) < len(lines)


@given(_CONTENTS, st.integers(1, 12), st.integers(1, 8), st.integers(1, 20), st.integers(1, 7))
def test_a_slice_is_what_splitting_the_whole_file_gives(
    data: bytes, start: int, max_lines: int, max_bytes: int, piece_bytes: int
) -> None:
    expected, more = _expected(data, start, max_lines, max_bytes)

    lines = slice_lines(_reader(data, piece_bytes), start, max_lines, max_bytes, count=True)

    assert lines.data == expected
    assert lines.end_of_file is not more
    assert lines.lines == len(expected.splitlines()) if b"\r" not in expected else lines.lines >= 1
    assert lines.total_lines == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    assert lines.first_line_cut is (more and not expected)


def test_nothing_is_read_beyond_what_is_needed() -> None:
    asked = 0

    def endless(size: int) -> bytes:
        nonlocal asked
        asked += size
        return b"0123456\n" * (size // 8)

    lines = slice_lines(endless, 1, 10, 1000, count=False)

    assert lines == Lines(b"0123456\n" * 10, 10, None, end_of_file=False, first_line_cut=False)
    assert asked == CHUNK_BYTES


@pytest.mark.parametrize("start", [1, 3])
def test_a_start_beyond_the_end_gives_nothing_and_the_number_of_lines(start: int) -> None:
    lines = slice_lines(_reader(b""), start, 10, 100, count=False)

    assert lines == Lines(b"", 0, 0, end_of_file=True, first_line_cut=False)
