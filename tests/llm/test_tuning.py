"""How long prompts are kept and how much is thought: from settings and environment to what reaches an adapter."""

import pytest

from kaa.core.messages import UserMessage
from kaa.core.provider import Model, Request, ThinkingLevel
from kaa.llm.compat import Compat, compat_for
from kaa.llm.tuning import CacheRetention, Tuning, in_environment
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_USUAL: dict[ThinkingLevel, int] = {"low": 2048, "high": 16_384, "xhigh": 32_768, "max": 32_768}
_REQUEST = Request(Model("m", "p", "a"), "", [UserMessage("hi")], session_id="s" * 80)
_ONCE = Request(Model("m", "p", "a"), "", [UserMessage("hi")], session_id="s", once=True)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "short"),
        ({"PI_CACHE_RETENTION": "long"}, "long"),
        ({"KAA_CACHE_RETENTION": "none", "PI_CACHE_RETENTION": "long"}, "none"),
        ({"KAA_CACHE_RETENTION": "", "PI_CACHE_RETENTION": "long"}, "long"),
    ],
)
def test_the_environment_counts_before_the_settings(environ: dict[str, str], expected: CacheRetention) -> None:
    assert in_environment(Tuning(), environ) == (Tuning(expected), ())


def test_a_retention_that_is_none_is_told_and_ignored() -> None:
    tuning, problems = in_environment(Tuning("long"), {"KAA_CACHE_RETENTION": "forever"})

    assert tuning == Tuning("long")
    assert len(problems) == 1
    assert "KAA_CACHE_RETENTION" in problems[0]
    assert "none, short, long" in problems[0]


def test_budgets_of_the_user_replace_the_usual_ones_and_high_holds_above() -> None:
    assert Tuning().budgets(_USUAL) == _USUAL
    assert Tuning(thinking_budgets={"high": 9000}).budgets(_USUAL) == {
        "low": 2048,
        "high": 9000,
        "xhigh": 9000,
        "max": 9000,
    }
    assert Tuning(thinking_budgets={"high": 9000, "max": 50_000}).budgets(_USUAL)["max"] == 50_000


@pytest.mark.parametrize(
    ("wanted", "server_keeps_long", "expected"),
    [
        ("none", True, "none"),
        ("short", True, "short"),
        ("long", True, "long"),
        ("long", False, "short"),
    ],
)
def test_long_is_asked_only_of_servers_that_offer_it(
    wanted: CacheRetention, server_keeps_long: bool, expected: CacheRetention
) -> None:
    compat = Compat(supports_long_cache_retention=server_keeps_long)
    endpoint = Endpoint("http://h", compat=compat, tuning=Tuning(wanted))

    assert endpoint.retention(_REQUEST) == expected
    assert endpoint.cache_key(_REQUEST) == ("" if expected == "none" else "s" * 64)


def test_nothing_is_kept_of_what_is_asked_once() -> None:
    endpoint = Endpoint("http://h", compat=Compat(supports_long_cache_retention=True), tuning=Tuning("long"))

    assert (endpoint.retention(_ONCE), endpoint.cache_key(_ONCE)) == ("none", "")


@each(
    ("base_url", "model", "expected"),
    [
        ("https://api.anthropic.com", "claude-opus-5", True),
        ("https://api.openai.com/v1", "gpt-5.2", True),
        ("https://api.openai.com/v1", "gpt-4.1-mini", False),
        ("https://api.openai.com/v1", "gpt-4o", False),
        ("https://openrouter.ai/api/v1", "anthropic/claude-opus-5", True),
        ("https://openrouter.ai/api/v1", "openai/gpt-5.2", False),
        ("http://localhost:8080/v1", "gpt-5.2", False),
    ],
)
def test_who_offers_to_keep_prompts_longer(base_url: str, model: str, expected: bool) -> None:
    assert compat_for(base_url, model).supports_long_cache_retention is expected
