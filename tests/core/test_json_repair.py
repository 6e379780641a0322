"""JSON with the slips of models."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.json_repair import BrokenJsonError, repair_json
from kaa.core.messages import Json
from tests.support.tables import each

_SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"]))
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
_OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), _VALUES, max_size=5)


@each(
    ("text", "meant"),
    [
        pytest.param('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}, id="trailing commas"),
        pytest.param("{'a': 'say \"hi\"', 'b': 'it\\'s'}", {"a": 'say "hi"', "b": "it's"}, id="single quotes"),
        pytest.param('{path: "a", old_text: "b", x-y: 1}', {"path": "a", "old_text": "b", "x-y": 1}, id="bare keys"),
        pytest.param('{"a": True, "b": None, "c": False}', {"a": True, "b": None, "c": False}, id="Python's words"),
        pytest.param('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}, id="line breaks in strings"),
        pytest.param('{"edits": [{"a": "b"}', {"edits": [{"a": "b"}]}, id="missing brackets"),
        pytest.param('{"a": "b"}}', {"a": "b"}, id="a bracket too many"),
        pytest.param('"{\\"a\\": \\"b\\\\n\\"}"', {"a": "b\n"}, id="encoded twice"),
        pytest.param('```json\n{"a": 1}\n```', {"a": 1}, id="in a fence"),
        pytest.param('```\n{"a": "```"}\n```\n', {"a": "```"}, id="a fence within the fence"),
        pytest.param("[{'a': 1}]", [{"a": 1}], id="a list"),
        pytest.param('{"a": "\\ud83d\\ude00 \\u00e9"}', {"a": "😀 é"}, id="escapes"),
        pytest.param('{"a": "\\ud83d"}', {"a": "\N{REPLACEMENT CHARACTER}"}, id="a lone surrogate"),
    ],
)
def test_slips_are_read_as_they_were_meant(text: str, meant: Json) -> None:
    assert repair_json(text).value == meant


@each(
    ("text", "expected"),
    [
        ('{"a": "b', "expected a string with an end at character 7"),
        ("{'a': 'it's'}", "expected a comma or } at character 11"),
        ('{"a": "say "hi""}', "expected a comma or } at character 13"),
        ('{"a": 1} and {"b": 2}', "expected nothing after the last bracket at character 10"),
        ('{"a": [1}', "expected a comma or ] at character 9"),
        ('{"a": "\\d+"}', "expected an escape of JSON"),
        ('{"a": yes}', "expected a value at character 7"),
        ('{"a": 12', "expected the end of the number"),
        ('{"a": 1,', "expected another value"),
        ('{"a"', "expected a colon after the key"),
        ('{"a": 1, "a": 2}', "expected the key 'a' only once"),
        ("{" * 100, "expected a key"),
        ('{"a": ' * 100, "nested more than 64 deep"),
        ("", "expected an object in braces at character 1, at the beginning, but found the end of the text"),
        ("ls -l", "but found 'ls -l'"),
        ('"ls"', "but found 'ls'"),
    ],
)
def test_what_could_be_meant_otherwise_is_refused_with_the_place(text: str, expected: str) -> None:
    with pytest.raises(BrokenJsonError) as caught:
        repair_json(text)

    assert expected in str(caught.value)


def test_it_tells_when_brackets_were_missing() -> None:
    assert repair_json('{"a": {"b": "c"').closed
    assert not repair_json('{"a": {"b": "c"}}').closed


@given(_OBJECTS)
def test_proper_json_is_read_as_it_is(value: dict[str, Json]) -> None:
    assert repair_json(msgspec.json.encode(value).decode()).value == value


@given(_OBJECTS)
def test_python_notation_means_the_same(value: dict[str, Json]) -> None:
    plain = msgspec.json.decode(msgspec.json.encode(value))
    text = repr(plain)

    try:
        read = repair_json(text).value
    except BrokenJsonError:
        assert "\\x" in text or "\\U" in text  # escapes that only Python has
    else:
        assert read == plain


@given(st.text(st.sampled_from("{}[]\"':,\\ \nabT1u`")))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = repair_json(text).value
    except BrokenJsonError:
        return
    assert isinstance(value, dict | list)
    msgspec.json.encode(value)


@each("unit", ['{"a":', '["', "[[", "'\\", '"a",', "```\n", "}", "{a:1,"])
def test_huge_texts_are_read_in_one_go(unit: str) -> None:
    with pytest.raises(BrokenJsonError):
        repair_json(unit * 200_000)
