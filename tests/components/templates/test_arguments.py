"""Arguments are split as each agent does; the cases of pi are what pi 1.5.2 answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.components.templates import Dialect
from kaa.components.templates.placeholders import split_arguments
from tests.support.tables import each

PI: tuple[tuple[str, list[str]], ...] = (
    ("", []),
    ("a  b ", ["a", "b"]),
    ("\"a b\" 'c d'", ["a b", "c d"]),
    ('"say \\"hi\\"" x', ['say "hi"', "x"]),
    ("'it\\'s' y", ["it's", "y"]),
    ("don't won't", ["don't", "won't"]),
    ('"open word', ['"open', "word"]),
    ("\"a\"'b'", ["a'b'"]),
    ('a"b c"d', ['a"b', 'c"d']),
    ("'' x \"\"", ["", "x", ""]),
    ('"a\\" b', ['"a\\"', "b"]),
    ('"a\\\\" b', ['"a\\\\"', "b"]),
    ('"a\\n" b', ["a\\n", "b"]),
    ('\\"a b\\"', ['\\"a', 'b\\"']),
    ('x "', ["x", '"']),
    ("\"a' b\" 'c\" d'", ["a' b", 'c" d']),
    ("a\xa0b\ufeffc\x1fd\x85e", ["a", "b", "c\x1fd\x85e"]),
    ("\"a 'b c", ['"a', "'b", "c"]),
    ('\'a "b c" d', ["'a", "b c", "d"]),
)
OPENCODE = (
    ("a  b", ["a", "b"]),
    ('a"b c"d', ["a", "b c", "d"]),
    ("'it' \"it's\" ''", ["it", "it's", ""]),
    ("see [Image 1] now", ["see", "[Image 1]", "now"]),
    ('"open word', ["open", "word"]),
)
SHELL = (
    ('"hello world" second', ["hello world", "second"]),
    ("a\\ b'c d'\"e f\"", ["a bc de f"]),
    ('"a \\" \\x" \'\\\'', ['a " \\x', "\\"]),
    ("'' x", ["", "x"]),
    ("$HOME; `x` # y", ["$HOME;", "`x`", "#", "y"]),
    ("it's open", ["it's", "open"]),
    ("end\\", ["end\\"]),
)


@each(("text", "arguments"), PI)
def test_pi(text: str, arguments: list[str]) -> None:
    assert split_arguments(text, "pi") == arguments


@pytest.mark.parametrize(("text", "arguments"), OPENCODE)
def test_opencode(text: str, arguments: list[str]) -> None:
    assert split_arguments(text, "opencode") == arguments


@each(("text", "arguments"), SHELL)
def test_claude_and_codex_split_as_a_shell(text: str, arguments: list[str]) -> None:
    assert split_arguments(text, "claude") == split_arguments(text, "codex") == arguments


def test_for_gemini_all_is_one() -> None:
    assert split_arguments('a "b c"', "gemini") == ['a "b c"']
    assert split_arguments("", "gemini") == []


@given(
    st.lists(st.from_regex(r"[a-zé$`!@{}()#;=.-]+", fullmatch=True)),
    st.sampled_from(["pi", "opencode", "claude", "codex"]),
)
def test_words_without_quotes_are_separated_by_white_space(words: list[str], dialect: Dialect) -> None:
    assert split_arguments(" ".join(words), dialect) == words
