"""What is written to the standard streams arrives, whatever they can encode."""

import io

import pytest

from kaa.frontends.delivery import deliver


@pytest.mark.parametrize(
    ("encoding", "written"),
    [("ascii", b"M\\xfcnchen \\u20ac\n"), ("latin-1", b"M\xfcnchen \\u20ac\n"), ("utf-8", "München €\n".encode())],
)
def test_an_answer_is_not_lost_for_what_the_stream_cannot_encode(encoding: str, written: bytes) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)

    deliver(stream, "München €\n")

    assert raw.getvalue() == written
