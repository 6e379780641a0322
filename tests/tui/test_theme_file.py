import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.colors import Depth
from kaa.tui.theme_file import TOKENS, ThemeError, parse
from tests.support.tables import each

Json = dict[str, Any]


def theme(**colors: object) -> Json:
    return {"name": "mine", "colors": {**dict.fromkeys(TOKENS, ""), **colors}}


def parsed(document: object, depth: Depth = "truecolor") -> Any:
    return parse(json.dumps(document), "mine.json", depth)


def test_every_kind_of_colour() -> None:
    document = theme(accent="#010203", error=196, warning="orange", text="")
    document["vars"] = {"orange": "deep", "deep": 208}

    mine = parsed(document)

    assert mine.name == "mine"
    assert [mine[token] for token in ("accent", "error", "warning", "text")] == [
        "38;2;1;2;3",
        "38;5;196",
        "38;5;208",
        "",
    ]


def test_backgrounds_fill() -> None:
    assert parsed(theme(selectedBg="#010203"))["selectedBg"] == "48;2;1;2;3"


def test_what_the_schema_allows_besides_is_ignored() -> None:
    document = theme() | {"$schema": "https://example.org/schema.json", "export": {"pageBg": "#000000"}}

    assert parsed(document).name == "mine"


def test_tokens_of_later_versions_are_kept() -> None:
    mine = parsed(theme(searchMatchBg=220, thinkingXhigh=9))

    assert mine["searchMatchBg"] == "48;5;220"
    assert mine["thinkingMax"] == "38;5;9"
    assert parsed(theme(thinkingXhigh=9, thinkingMax=10))["thinkingMax"] == "38;5;10"


def test_tokens_carry_what_they_say_besides_their_colour() -> None:
    mine = parsed(theme(mdHeading=3, mdQuote="", thinkingText=4))

    assert [mine[token] for token in ("mdHeading", "mdQuote", "thinkingText")] == ["1;38;5;3", "3", "3;38;5;4"]


def test_without_colours_attributes_tell_things_apart() -> None:
    mine = parsed(theme(error="#ff0000", muted="#888888", selectedBg="#333333"), "none")

    assert [mine[token] for token in ("error", "muted", "selectedBg", "text")] == ["1", "2", "7", ""]


def test_the_selection_is_seen_with_16_colours() -> None:
    assert parsed(theme(selectedBg="#2a2a30"), "16")["selectedBg"] == "7"
    assert parsed(theme(selectedBg="#0000cc"), "16")["selectedBg"] == "44"


@pytest.mark.parametrize(
    ("colors", "is_dark"),
    [
        ({"userMessageBg": "#20242c", "toolErrorBg": "#402020"}, True),
        ({"userMessageBg": "#eeeeee", "toolErrorBg": "#ffe0e0"}, False),
        ({"text": "#e0e0e0"}, True),
        ({"text": "#202020"}, False),
        ({}, True),
    ],
)
def test_which_background_it_is_made_for(colors: dict[str, str], is_dark: bool) -> None:
    assert parsed(theme(**colors)).is_dark == is_dark


def test_a_theme_without_any_colour_is_judged_by_its_name() -> None:
    assert parsed(theme() | {"name": "Paper Light"}).is_dark is False


def test_all_that_is_wrong_is_told_at_once() -> None:
    document = theme(accent="#12", error="nobody", warning=256, success=True, muted="ping")
    document["vars"] = {"ping": "pong", "pong": "ping"}
    del document["colors"]["dim"], document["colors"]["border"], document["name"]

    with pytest.raises(ThemeError) as caught:
        parsed(document)

    message = str(caught.value)
    assert message.startswith("mine.json is not a theme:")
    for part in ('"name" must be', "border, dim", 'accent is "#12"', "error is", "warning is 256", "success is true"):
        assert part in message
    assert "colors.muted goes in a circle (through ping -> pong)" in message


@each("text", ["", "{", "[]", "3", "[" * 100_000, '{"colors": 3, "vars": []}'])
def test_what_is_no_theme_is_said_to_be_none(text: str) -> None:
    with pytest.raises(ThemeError, match=r"^broken\.json is not a theme:"):
        parse(text, "broken.json", "256")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["a", "b", "#ffffff"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("a"), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries({}, optional={"name": ANYTHING, "vars": ANYTHING, "colors": ANYTHING, "export": ANYTHING}),
    st.dictionaries(st.sampled_from(TOKENS), ANYTHING, max_size=3),
    st.sampled_from(["none", "16", "256", "truecolor"]),
)
def test_any_json_is_a_theme_or_an_error(document: Json, colors: Json, depth: Depth) -> None:
    if isinstance(document.get("colors"), dict):
        document["colors"] = {**dict.fromkeys(TOKENS, 7), **document["colors"], **colors}
    try:
        mine = parsed(document, depth)
    except ThemeError:
        return
    assert all(part.isdecimal() for token in TOKENS for part in mine[token].split(";") if mine[token])
