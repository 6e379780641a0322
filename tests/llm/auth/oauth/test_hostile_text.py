"""Whatever a server, a browser or a person says, it is a login or a told mistake."""

import asyncio
from urllib.parse import urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.llm.auth.errors import LoginError
from kaa.llm.auth.oauth.browser import Loopback
from kaa.llm.auth.oauth.exchange import refusal, tokens_of
from tests.support.agents import run

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = st.sampled_from(["access_token", "refresh_token", "token_type", "expires_in"])


@given(st.dictionaries(_FIELDS, _JSON | st.sampled_from(["bearer", "Bearer", "a-token"])))
def test_an_answer_is_tokens_that_can_be_sent_or_a_mistake(answer: dict[str, object]) -> None:
    try:
        tokens = tokens_of(answer, "login.example")
    except LoginError:
        return
    assert tokens.access.isascii()
    assert tokens.access.isprintable()
    assert tokens.expires >= 0


@given(st.text(), _JSON, st.text(min_size=1))
def test_a_refusal_is_one_line_without_the_secret(code: str, description: object, secret: str) -> None:
    said = str(refusal(code, description, "login.example", (f"s3cret-{secret}",)))

    assert said.isprintable()
    assert f"s3cret-{secret}" not in said


@given(st.text() | st.text().map(lambda text: f"http://127.0.0.1/?{text}") | st.text().map("http://[?".__add__))
def test_what_is_pasted_is_a_code_or_a_mistake(pasted: str) -> None:
    loopback = Loopback("/callback", "the-state", "login.example")

    try:
        code = loopback.code_in(pasted)
    except LoginError:
        return
    assert code == pasted.strip()  # nobody guesses the state


@settings(max_examples=50)
@given(
    st.binary(max_size=300) | st.binary(max_size=100).map(lambda raw: b"GET /callback?" + raw + b" HTTP/1.1\r\n\r\n")
)
def test_whatever_is_sent_to_the_listener_it_goes_on_listening(raw: bytes) -> None:
    async def scenario() -> int:
        async with Loopback("/callback", "the-state", "login.example") as loopback:
            port = urlsplit(loopback.address).port
            assert port is not None
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(raw)
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET /callback?state=the-state&code=c HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            status = int((await reader.readline()).split()[1])
            writer.close()
            assert await loopback.code() == "c"
            return status

    assert run(scenario()) == 200
