"""JSON with comments: what is accepted, what is not, and where the mistake is said to be."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.jsonc import JsoncError, decode, to_json
from tests.support.tables import each


@each(
    ("text", "value"),
    [
        ('{"a": 1} // end', {"a": 1}),
        ("// first\n[1, 2]", [1, 2]),
        ("[1, /* two */ 2]", [1, 2]),
        ("[1, 2,]", [1, 2]),
        ('{"a": [1,\n], // last\n}\n', {"a": [1]}),
        ('{"a": true, /* why */ // because\n}', {"a": True}),
        ("/* many\nlines */ null", None),
        ("\ufeff{}", {}),
        ('\ufeff// note\r\n{"a": 1,}\r\n', {"a": 1}),
        ("/**/1/**/", 1),
        ("[[],{},]", [[], {}]),
    ],
)
def test_comments_and_trailing_commas_are_accepted(text: str, value: Any) -> None:
    assert decode(text) == value


@each("inner", ["// no", "/* no */", ",]", ',}"', '\\"//', "\\", "a\\\\", "/*"])
def test_strings_are_left_alone(inner: str) -> None:
    text = json.dumps({"k": inner, "l": [inner]}, indent=1)

    assert to_json(text) == text


@each(
    ("text", "line", "column"),
    [
        ('{"a": 1\n "b": 2}', 2, 2),
        ("[,]", 1, 2),
        ("[1,,]", 1, 4),
        ('{\n  "é": 1, /* ü\n ö */ oops\n}', 3, 7),
        ("{} {}", 1, 5),
        ("[1, 2", 1, 6),
        ("", 1, 1),
        ("// only this\n", 2, 1),
        ("[1]\n/* never", 2, 1),
        ('{"a": "two\nlines"}', 1, 11),
    ],
)
def test_mistakes_are_located_in_the_original_text(text: str, line: int, column: int) -> None:
    with pytest.raises(JsoncError) as caught:
        decode(text)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value) == f"line {line}, column {column}: {caught.value.reason}"


def test_bytes_that_are_not_utf8_are_located() -> None:
    with pytest.raises(JsoncError, match=r"line 2, column 3: this is not UTF-8"):
        decode(b"[\n1,\xff]")


def test_a_wrong_shape_says_its_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$\[\.\.\.\]`"):
        decode('{"a": "x",} // no', dict[str, int])


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_comment = st.sampled_from([" ", "\n", "//x\n", '// "[,\n', "/* , */", "/*\n*/", "/**/", "\t"])


@given(_json, st.data())
def test_comments_between_any_tokens_change_nothing(value: Any, data: st.DataObject) -> None:
    plain = json.dumps(value, ensure_ascii=data.draw(st.booleans()))

    commented = _with_comments(plain, data)

    assert decode(commented) == value
    assert len(to_json(commented)) == len(commented)
    assert to_json(commented).count("\n") == commented.count("\n")


def _with_comments(plain: str, data: st.DataObject) -> str:
    """`plain` with something after every bracket, comma and colon outside strings, and trailing commas."""
    out: list[str] = []
    opened = in_string = escaped = False  # opened: a bracket or brace with nothing in it yet
    for character in plain:
        if not in_string and character in "]}" and not opened and data.draw(st.booleans()):
            out += (",", data.draw(_comment))
        out.append(character)
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
            continue
        opened = character in "[{" or (opened and character.isspace())
        in_string = character == '"'
        if character in "[]{},:":
            out.append(data.draw(_comment))
    return "".join(out)


def _refusal(source: str | bytes) -> JsoncError | None:
    try:
        decode(source)
    except JsoncError as error:
        return error
    return None


@given(st.text(alphabet='[]{}",:/*\\\n 1a\ufeff'))
def test_any_text_decodes_or_is_refused_with_a_place(text: str) -> None:
    error = _refusal(text)

    assert error is None or (1 <= error.line <= text.count("\n") + 1 and error.column >= 1)


@given(st.binary())
def test_any_bytes_decode_or_are_refused_with_a_reason(source: bytes) -> None:
    error = _refusal(source)

    assert error is None or error.reason


@pytest.mark.parametrize("nested", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_what_nests_without_end_is_refused(nested: str) -> None:
    with pytest.raises(JsoncError, match="nested too deeply"):
        decode(f'{{"a": {nested}')
