"""Plain words mean to us exactly what they mean to bash."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.shell.approvals.words import is_harmless_redirection, literal, plain_commands, scan, split
from tests.support.tables import each


def bash_words(text: str) -> tuple[str, ...]:
    """What bash makes of words, in a directory where no glob can match by accident."""
    script = f'printf "%s\\0" {text}'.encode()
    done = subprocess.run(
        ["bash", "-c", script], check=True, capture_output=True, cwd="/proc/self/fdinfo", env={"HOME": "/h"}
    )
    return tuple(word.decode() for word in done.stdout.split(b"\0")[:-1])


@each(
    ("word", "value"),
    [
        ("git", "git"),
        ("--since=2.weeks", "--since=2.weeks"),
        ("HEAD~2", "HEAD~2"),
        ("HEAD^^", "HEAD^^"),
        ("stash@{0}", "stash@{0}"),
        ("main@{-1}", "main@{-1}"),
        ("'a b'", "a b"),
        ("'it'\\''s'", "it's"),
        ('"a \\" \\\\ \\n b"', 'a " \\ \\n b'),
        ('"two\nlines"', "two\nlines"),
        ('"joined\\\nline"', "joinedline"),
        ('a"b"c', "abc"),
        ("''", ""),
        ("\\;", ";"),
        ("-I{}", "-I{}"),
        ("'ü 日本'", "ü 日本"),
    ],
)
def test_words_that_stand_for_something_fixed(word: str, value: str) -> None:
    assert literal(word.encode()) == value
    assert bash_words(word) == (value,)


@each(
    "word",
    [
        *("$x", "${x}", "$(x)", "`x`", '"$x"', '"`x`"', "$'x'", '$"x"', "$((1))"),
        *(
            "*.c",
            "a?",
            "[ab]",
            "~",
            "~/x",
            "a=~/x",
            "{a,b}",
            "{1..3}",
            "a{b",
            "@{a,b}",
            "@{1..3}",
            "${@{0}",
            "{a,b@{0}}",
            "!x",
            "#x",
        ),
        *("a;b", "a b", "a|b", "a&b", "a>b", "a<b", "(a)", "a\nb", "a\\\nb", "'", '"', "\\", "a\\"),
        *("é", "a\u00a0b", "a\u2003b", "a\u200bb", "a\vb", "a\rb", "a\x1bb", "'a\x00b'", "'a\x07b'"),
    ],
)
def test_words_that_may_mean_something_else(word: str) -> None:
    assert literal(word.encode()) is None


def test_bytes_that_are_no_text_are_not_literal() -> None:
    assert literal(b"'\xff'") is None


_QUOTING = st.text(alphabet="ab~^=:'\"\\ ;$`*?{},.!#\n\té", min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(st.lists(_QUOTING, min_size=1, max_size=4))
def test_what_is_literal_is_what_bash_makes_of_it(words: list[str]) -> None:
    known = [(word, value) for word in words if (value := literal(word.encode())) is not None]
    if known:
        assert bash_words(" ".join(word for word, _ in known)) == tuple(value for _, value in known)


@given(st.binary(max_size=60))
def test_nothing_makes_the_reader_fail(line: bytes) -> None:
    literal(line)
    plain_commands(line)
    tokens = scan(line)
    if tokens is not None:
        assert all(token.text in line for token in tokens)


@pytest.mark.parametrize("hostile", ["a" * 50_000 + "$", "'" * 49_999, "\\a" * 20_000 + "\\", '"' + "\\" * 30_001])
def test_hostile_words_are_read_in_linear_time(hostile: str) -> None:
    assert literal(hostile.encode()) is None
    assert scan(hostile.encode()) is None


def test_operators_and_harmless_redirections_are_seen() -> None:
    line = b"make 2>&1 >/dev/null | head -5 && # why\n echo x & (true)"

    tokens = scan(line)

    assert tokens is not None
    assert [token.text.decode() for token in tokens] == (
        ["make", "2>&1", ">/dev/null", "|", "head", "-5", "&&", "\n", "echo", "x", "&", "(", "true", ")"]
    )


@each("text", [">x", "2>x", ">/dev/null2", ">&3", "&>x", "<x", "<<<x", "<>x", ">|/dev/null", ">/dev/nul"])
def test_redirections_that_touch_files_are_not_harmless(text: str) -> None:
    assert not is_harmless_redirection(text.encode())
    assert scan(b"a " + text.encode()) is None


def test_only_a_line_of_words_can_be_split() -> None:
    assert split("git commit -m 'a b'") == ("git", "commit", "-m", "a b")
    assert split("git status; ls") is None
    assert split("echo \udc80") is None


@each("command", ["ls .", "git add .", "pip install .", "ls ..", "cd ./a", "echo a.b .", "ls . ."])
def test_a_dot_is_a_word(command: str) -> None:
    assert split(command) == tuple(command.split(" "))
