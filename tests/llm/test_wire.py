"""Endpoints, and what servers are known to want."""

import msgspec
import pytest

from kaa.llm.compat import Compat, compat_for
from kaa.llm.unicode_text import clean, clean_json
from kaa.llm.wire import Endpoint, peer_of
from tests.support.tables import each


@each(
    ("base", "url"),
    [
        ("https://host.test/v1", "https://host.test/v1/chat"),
        ("https://host.test/v1/", "https://host.test/v1/chat"),
        ("http://localhost:8000", "http://localhost:8000/chat"),
        ("https://host.test/v1?api-version=2", "https://host.test/v1/chat?api-version=2"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat"),
        ("http://[", "http://["),
    ],
)
def test_the_path_is_put_behind_the_base_url(base: str, url: str) -> None:
    assert Endpoint(base).url("/chat") == url


def test_the_key_goes_where_the_endpoint_says() -> None:
    usual = dict(Endpoint("http://h", "key").request_headers("x-api-key", ()))
    chosen = dict(Endpoint("http://h", "key", auth="bearer").request_headers("x-api-key", ()))
    google = dict(Endpoint("http://h", "key").request_headers("x-goog-api-key", ()))
    none = dict(Endpoint("http://h").request_headers("bearer", ()))

    assert google["x-goog-api-key"] == "key"
    assert "authorization" not in google
    assert usual["x-api-key"] == "key"
    assert chosen["authorization"] == "Bearer key"
    assert "x-api-key" not in chosen
    assert none.keys() == {"content-type", "accept"}


def test_headers_of_the_endpoint_replace_ours_in_any_case() -> None:
    endpoint = Endpoint("http://h", "key", headers=(("Authorization", "Basic abc"), ("X-Team", "a")))

    headers = dict(endpoint.request_headers("bearer", [("x-team", "b")]))

    assert headers["authorization"] == "Basic abc"
    assert headers["x-team"] == "a"


def test_a_peer_knows_every_secret_of_its_endpoint_and_shows_none() -> None:
    peer = peer_of(Endpoint("http://u:p@h:1/v1", "key-1", headers=(("authorization", "Bearer key-2"),)), "p", "m")

    assert peer.secrets == ("key-2", "key-1")
    assert peer.host == "h:1"
    assert "key" not in repr(peer)


def test_nothing_is_presumed_of_unknown_servers() -> None:
    assert compat_for("http://localhost:8000/v1") == Compat()
    assert compat_for("https://api.openai.com.evil.test/v1") == Compat()
    assert compat_for("http://[") == Compat()


@pytest.mark.parametrize(
    ("base", "model", "field", "value"),
    [
        ("https://api.openai.com/v1", "gpt", "max_tokens_field", "max_completion_tokens"),
        ("https://openrouter.ai/api/v1", "anthropic/claude", "cache_control_format", "anthropic"),
        ("https://openrouter.ai/api/v1", "openai/gpt", "cache_control_format", None),
        ("https://api.deepseek.com", "x", "thinking_format", "deepseek"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "x", "thinking_format", "qwen"),
    ],
)
def test_known_servers_get_what_they_want(base: str, model: str, field: str, value: str | None) -> None:
    assert getattr(compat_for(base, model), field) == value


def test_overrides_win_and_unknown_names_are_ignored() -> None:
    compat = compat_for("https://api.openai.com/v1", "", {"maxTokensField": "max_tokens", "inventedLater": 1})

    assert compat.max_tokens_field == "max_tokens"
    assert compat.supports_developer_role
    with pytest.raises(msgspec.ValidationError):
        compat_for("http://h", "", {"thinkingFormat": "telepathy"})


def test_unpaired_surrogates_are_replaced_and_pairs_joined() -> None:
    assert clean("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert clean("\ud83d\ude00 é") == "😀 é"
    assert clean_json({"k\ud800": ["\udc00x", 1, None, {"a": "\ud83d\ude00"}]}) == {
        "k\ufffd": ["\ufffdx", 1, None, {"a": "😀"}]
    }
