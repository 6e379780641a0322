import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.workspace.output import OutputCollector

_CHUNKS = st.lists(st.binary(min_size=1, max_size=30) | st.sampled_from([b"\n", b"a\nb\n"]), max_size=20)


@given(_CHUNKS, st.integers(0, 40))
def test_whatever_the_chunks_the_tail_and_the_counts_are_those_of_the_whole(chunks: list[bytes], keep: int) -> None:
    whole = b"".join(chunks)
    collector = OutputCollector(keep, logs=None, on_output=None)

    for chunk in chunks:
        collector.feed(chunk)

    assert collector.tail == whole[max(len(whole) - keep, 0) :]
    assert collector.size == len(whole)
    assert collector.lines == whole.count(b"\n") + (bool(whole) and not whole.endswith(b"\n"))


@pytest.mark.parametrize("chunks", [[b"12345", b"6"], [b"123456"], [b"1", b"2345678", b"9"]])
def test_the_log_has_everything_from_the_start(chunks: list[bytes], tmp_path: Path) -> None:
    collector = OutputCollector(5, logs=str(tmp_path), on_output=None)

    for chunk in chunks:
        collector.feed(chunk)
    collector.close()

    assert collector.log_path is not None
    assert Path(collector.log_path).read_bytes() == b"".join(chunks)


@pytest.mark.parametrize(
    ("chunks", "kept"),
    [([b"123456", b"78", b"9"], b"1234567"), ([b"1234567", b"8"], b"1234567"), ([b"123456789"], b"1234567")],
)
def test_a_log_keeps_the_beginning_of_what_is_too_long_for_it(chunks: list[bytes], kept: bytes, tmp_path: Path) -> None:
    collector = OutputCollector(3, logs=str(tmp_path), on_output=None, max_log_bytes=7)

    for chunk in chunks:
        collector.feed(chunk)
    collector.close()

    assert collector.log_path is not None
    assert Path(collector.log_path).read_bytes() == kept
    assert collector.log_cut
    assert collector.tail == b"".join(chunks)[-3:]


def test_without_a_place_for_the_log_the_tail_remains(tmp_path: Path) -> None:
    seen: list[bytes] = []
    collector = OutputCollector(3, logs=str(tmp_path / "missing"), on_output=seen.append)

    collector.feed(b"12345")
    collector.feed(b"6")

    assert (collector.tail, collector.log_path, seen) == (b"456", None, [b"12345", b"6"])


def test_a_log_that_cannot_be_written_any_more_is_removed(tmp_path: Path) -> None:
    collector = OutputCollector(3, logs=str(tmp_path), on_output=None)
    collector.feed(b"12345")
    path = collector.log_path
    assert path is not None
    full = os.open("/dev/full", os.O_WRONLY)
    log = next(fd for fd in map(int, os.listdir("/dev/fd")) if _leads_to(fd, path))
    os.dup2(full, log)
    os.close(full)

    collector.feed(b"6")

    assert collector.tail == b"456"
    assert list(tmp_path.glob("*")) == []


def _leads_to(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False
