"""Secrets of requests in answers: removed wherever the pieces of a body end, and nothing else is held back."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse
from kaa.mcp.http.discreet import DiscreetTransport
from tests.support.agents import run

TOKEN = "token-of-lab-aab"


class Echoing:
    """Answers with pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    @asynccontextmanager
    async def send(self, _: HttpRequest) -> AsyncIterator[HttpResponse]:
        async def body() -> AsyncIterator[bytes]:
            for piece in self._pieces:
                yield piece

        yield HttpResponse(500, Headers(), body())

    async def close(self) -> None:
        """Nothing is open."""


def received(pieces: Sequence[bytes], *headers: tuple[str, str]) -> list[bytes]:
    async def scenario() -> list[bytes]:
        async with DiscreetTransport(Echoing(pieces)).send(HttpRequest("POST", "https://x", headers)) as response:
            return [chunk async for chunk in response.chunks()]

    return run(scenario())


@pytest.mark.parametrize(
    "header", [("Authorization", f"Bearer {TOKEN}"), ("X-Api-Key", TOKEN), ("cookie", f"session {TOKEN}")]
)
def test_a_repeated_secret_is_removed(header: tuple[str, str]) -> None:
    assert received([f"you sent {TOKEN}!".encode()], header) == [b"you sent [redacted]!"]


@pytest.mark.parametrize(
    "spelled",
    [
        "c2VjcmV0/LW9m+bGFi==",
        r"c2VjcmV0\/LW9m+bGFi==",
        r"c2VjcmV0/LW9m+bGFi\u003d\u003d",
        r"c2VjcmV0/LW9m\u002BbGFi==",
    ],
    ids=["plain", "PHP", "Gson", ".NET"],
)
def test_a_secret_is_removed_however_json_has_it(spelled: str) -> None:
    [answer] = received([f'{{"you sent": "{spelled}"}}'.encode()], ("x-api-key", "c2VjcmV0/LW9m+bGFi=="))

    assert answer == b'{"you sent": "[redacted]"}'


def test_what_is_no_secret_comes_as_it_is() -> None:
    pieces = [b"application/json", b"blue team", b"data: x\n\n"]

    assert received(pieces, ("accept", "application/json"), ("X-Team", "blue team"), ("x-key", "short")) == pieces


def test_an_event_is_not_held_back_until_the_next_one() -> None:
    assert received([b"data: 1\n\n", b"data: 2\n\n"], ("authorization", TOKEN)) == [b"data: 1\n\n", b"data: 2\n\n"]


@given(st.lists(st.sampled_from([TOKEN, TOKEN[:9], TOKEN[9:], "t", "to", " "]), max_size=8), st.data())
def test_no_division_hides_a_secret_or_loses_anything(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    came = b"".join(received(pieces, ("authorization", f"Bearer {TOKEN}")))

    assert came == whole.replace(TOKEN.encode(), b"[redacted]")
