"""Tool arguments that arrive in pieces."""

import json
import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import Json
from kaa.core.partial_json import PartialJson
from tests.support.tables import each

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(_TEXT, _VALUES, max_size=5)


def _fed(*fragments: str) -> PartialJson:
    partial = PartialJson()
    for fragment in fragments:
        partial.feed(fragment)
    return partial


def _is_prefix(part: Json, whole: Json) -> bool:
    """Whether `part` can grow into `whole`: only the last member may be unfinished."""
    if isinstance(part, dict) and isinstance(whole, dict):
        members = list(part.items())
        return list(part) == list(whole)[: len(part)] and all(
            value == whole[key] if position < len(members) - 1 else _is_prefix(value, whole[key])
            for position, (key, value) in enumerate(members)
        )
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(
            value == whole[position] if position < len(part) - 1 else _is_prefix(value, whole[position])
            for position, value in enumerate(part)
        )
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return type(part) is type(whole) and bool(part == whole)


def _fragments(text: str, seed: int) -> list[str]:
    """`text` cut at random places."""
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(6)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(_OBJECTS, st.booleans(), st.booleans(), st.integers())
def test_a_complete_object_is_what_json_decodes(value: Json, ascii_only: bool, indented: bool, seed: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=2 if indented else None)

    partial = _fed(*_fragments(text, seed))

    assert partial.complete
    assert not partial.broken
    assert partial.value == json.loads(text) == msgspec.json.decode(text)


@given(_OBJECTS, st.booleans(), st.integers())
def test_every_prefix_gives_a_prefix_of_the_object(value: Json, ascii_only: bool, seed: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    partial = PartialJson()
    seen = []

    for character in text:
        partial.feed(character)
        seen.append((partial.value, json.dumps(partial.value)))

    assert all(_is_prefix(part, value) for part, _ in seen)
    assert not partial.broken
    # What was returned earlier did not change afterwards.
    assert all(json.dumps(part) == then for part, then in seen)
    cut = seed % (len(text) + 1)
    assert _fed(text[:cut]).value == (seen[cut - 1][0] if cut else {})


@given(st.text(max_size=60) | st.text(alphabet='{}[]":,\\u0dD89eE+-.truefalsn \n', max_size=40), st.integers())
def test_any_text_is_survived_and_only_json_is_complete(text: str, seed: int) -> None:
    partial = _fed(*_fragments(text, seed))
    whole = _fed(text)

    assert (partial.value, partial.broken, partial.complete) == (whole.value, whole.broken, whole.complete)
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        decoded = None
    if isinstance(decoded, dict):
        assert whole.complete
        assert whole.value == decoded
    elif whole.complete:
        # Only lone surrogates are taken where a strict decoder gives up.
        assert "\N{REPLACEMENT CHARACTER}" in json.dumps(whole.value, ensure_ascii=False)


@each(
    ("text", "value"),
    [
        ("", {}),
        ('{"path', {}),
        ('{"path"', {}),
        ('{"path":', {}),
        ('{"path": "src/ma', {"path": "src/ma"}),
        ('{"path": "a\\', {"path": "a"}),
        ('{"path": "a\\u00e', {"path": "a"}),
        ('{"path": "\\ud83d', {"path": ""}),
        ('{"path": "\\ud83d\\ude00', {"path": "😀"}),
        ('{"limit": 12', {}),
        ('{"limit": 12,', {"limit": 12}),
        ('{"all": tru', {}),
        ('{"edits": [{"oldText": "a", "newText": "b', {"edits": [{"oldText": "a", "newText": "b"}]}),
        ('{"edits": [{"oldText": "a"}, ', {"edits": [{"oldText": "a"}]}),
    ],
)
def test_unfinished_text_shows_what_is_certain(text: str, value: Json) -> None:
    partial = _fed(text)

    assert partial.value == value
    assert not partial.broken
    assert not partial.complete


@each(
    ("text", "value"),
    [
        ("[1]", {}),
        ("ls -la", {}),
        ('{"a": 1, "b": nope, "c": 2}', {"a": 1}),
        ('{"a": 1} trailing', {"a": 1}),
        ('{"a": "x\\q"}', {"a": "x"}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1}', {"a": [1]}),
    ],
)
def test_garbage_keeps_the_last_good_value(text: str, value: Json) -> None:
    partial = _fed(text, '"more": 1}')

    assert partial.value == value
    assert partial.broken
    assert not partial.complete


def test_nesting_without_end_is_refused_before_it_hurts() -> None:
    partial = _fed('{"a":' + "[" * 100_000)

    assert partial.broken
    assert json.dumps(partial.value)


def test_digits_without_end_are_refused() -> None:
    partial = _fed('{"a":', *["1" * 1000] * 10)

    assert partial.broken
    assert partial.value == {}
