"""Changing a value leaves every other byte: comments, order, odd spacing, trailing commas."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.llm import jsonc
from kaa.shell.jsonc_splice import splice, without


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "theme": "light"\n}'),
        ("{ }\n", '{\n  "theme": "light"\n }\n'),
        ('{"a": 1}', '{"a": 1, "theme": "light"}'),
        ('{"theme": "dark" /* warm */}', '{"theme": "light" /* warm */}'),
        ('{\n\t"a": 1 // one\n}\n', '{\n\t"a": 1, // one\n\t"theme": "light"\n}\n'),
        ('{\n  "a": 1,\n}\n', '{\n  "a": 1,\n  "theme": "light",\n}\n'),
        ('{\n  "a": 1 // no, comma\n}', '{\n  "a": 1, // no, comma\n  "theme": "light"\n}'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "theme": "light"\r\n}\r\n'),
        ("// mine\n{ // begin\n}", '// mine\n{ // begin\n  "theme": "light"\n}'),
        ('{"theme": 1, "theme": {"a": [2]}, }', '{"theme": 1, "theme": "light", }'),
        ('\ufeff{"th\\u0065me": null}', '\ufeff{"th\\u0065me": "light"}'),
    ],
)
def test_one_value(before: str, after: str) -> None:
    assert splice(before, {"theme": "light"}) == after


def test_objects_are_merged_at_any_depth() -> None:
    before = '{\n  "terminal": {\n    "showImages": true, // please\n    "more": {}\n  },\n  "a": 1\n}\n'

    after = splice(before, {"terminal": {"showImages": False, "more": {"x": [1, 2]}, "new": {"y": None}}})

    assert after == (
        '{\n  "terminal": {\n    "showImages": false, // please\n    "more": {\n      "x": [1, 2]\n    },\n'
        '    "new": {\n      "y": null\n    }\n  },\n  "a": 1\n}\n'
    )


def test_an_object_takes_the_place_of_what_is_none() -> None:
    assert json.loads(splice('{"terminal": 3}', {"terminal": {"a": 1}})) == {"terminal": {"a": 1}}


def test_no_change_changes_nothing() -> None:
    assert splice('{ "a" :1,}', {}) == '{ "a" :1,}'


@pytest.mark.parametrize("text", ["[]", "3", '"{}"'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="object"):
        splice(text, {"a": 1})


@pytest.mark.parametrize("text", ["{", '{"a": }', "/* {}", ""])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(jsonc.JsoncError):
        splice(text, {"a": 1})


_NAMES = st.sampled_from(["a", "b", 'q"uote', "ü", "{", "//", "a,b"])
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "x", '"', "}", "/*", "// no", "\\"])
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=3)),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_NAMES, _VALUES, max_size=4)
_TRAILING = st.sampled_from(["", ","])
_BLANKS = st.sampled_from(["", " ", "\n", "\n    ", "\t", " // c }, \n", '/* " { , */', "\r\n"])


@st.composite
def _written(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An object, and how a person may have written it."""
    value = draw(_OBJECTS)

    def text(part: Any) -> str:
        before, after = draw(_BLANKS), draw(_BLANKS)
        inner: list[str]
        if isinstance(part, dict):
            inner = [f"{draw(_BLANKS)}{json.dumps(name)}{draw(_BLANKS)}:{text(each)}" for name, each in part.items()]
            opening, closing = "{", "}"
        elif isinstance(part, list):
            inner = [text(each) for each in part]
            opening, closing = "[", "]"
        else:
            return f"{before}{json.dumps(part)}{after}"
        trailing = draw(_TRAILING)
        comma = trailing if inner else ""
        return f"{before}{opening}{','.join(inner)}{comma}{draw(_BLANKS)}{closing}{after}"

    return text(value), value


def _merged(old: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for name, value in changes.items():
        present = merged.get(name)
        merged[name] = _merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return merged


def _is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(character in rest for character in part)


@given(_written(), _OBJECTS)
def test_read_again_it_is_the_old_with_the_changes(
    written: tuple[str, dict[str, Any]], changes: dict[str, Any]
) -> None:
    text, value = written

    assert jsonc.decode(splice(text, changes)) == _merged(value, changes)


@given(_written(), _OBJECTS)
def test_what_is_added_takes_nothing_away(written: tuple[str, dict[str, Any]], changes: dict[str, Any]) -> None:
    text, value = written
    new = {name: each for name, each in changes.items() if name not in value}

    assert _is_subsequence(text, splice(text, new))


@given(_written(), st.data())
def test_a_replaced_value_is_all_that_differs(written: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, value = written
    if not value:
        return
    name = data.draw(st.sampled_from(sorted(value)))
    there_and_back = splice(splice(text, {name: "marker-of-the-test"}), {name: 0})

    assert splice(text, {name: 0}) == there_and_back
    assert text.startswith(there_and_back.partition("marker")[0][: text.index(json.dumps(name))])


@given(_written(), st.data())
def test_what_is_removed_is_all_that_goes(written: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, value = written
    if not value:
        with pytest.raises(KeyError):
            without(text, ["any"])
        return
    name = data.draw(st.sampled_from(sorted(value)))

    left = without(text, [name])

    assert jsonc.decode(left) == {key: one for key, one in value.items() if key != name}
    assert _is_subsequence(left, text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": {"x": 1, "y": 2}}', '{"a": {"y": 2}}'),
        ('{"a": {"x": 1}}', '{"a": {}}'),
        ('{"a": { // one\n  "x": 1, "y": 2}}', '{"a": { // one\n  "y": 2}}'),
        ('{"a": {\n  "y": 2, // two\n  "x": {"z": []}\n}}', '{"a": {\n  "y": 2 // two\n}}'),
    ],
)
def test_a_member_within_an_object_is_removed(before: str, after: str) -> None:
    assert without(before, ["a", "x"]) == after
