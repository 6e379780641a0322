from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.tui.components.code import Highlighter, highlight, language_of
from kaa.tui.style import Span
from tests.support.painted import STYLES, make_context
from tests.support.tables import each

COMMENT, KEYWORD, STRING = STYLES["syntaxComment"], STYLES["syntaxKeyword"], STYLES["syntaxString"]


def lines_of(code: str, language: str) -> list[list[Span]]:
    return highlight(code, make_context().palette, language)


def text_of(lines: list[list[Span]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def test_tokens_have_their_styles() -> None:
    assert lines_of("return 'a' # b", "python") == [
        [("return", KEYWORD), (" ", ""), ("'a'", STRING), (" ", ""), ("# b", COMMENT)]
    ]


@each(
    ("language", "code", "style"),
    [
        ("python", 'x = """a\nb\n"""', STRING),
        ("js", "/* a\n b\n*/", COMMENT),
        ("go", "/* a\n b\n*/", COMMENT),
        ("rust", "/* a\n b\n*/", COMMENT),
        ("css", "/* a\n b\n*/", COMMENT),
        ("html", "<!-- a\n b\n-->", COMMENT),
        ("js", "x = `a\n b\n`", STRING),
    ],
)
def test_what_goes_over_several_lines_is_known_in_all_of_them(language: str, code: str, style: str) -> None:
    middle = lines_of(code, language)[1]

    assert {found for text, found in middle if text.strip()} == {style}


def test_slash_and_star_begin_a_comment_only_where_there_are_such() -> None:
    assert all(style != COMMENT for line in lines_of("ls /*\necho", "bash") for _, style in line)
    assert all(style != COMMENT for line in lines_of("x = '/*'\ny", "js") for _, style in line)


def test_behind_a_comment_code_goes_on() -> None:
    assert lines_of("/* a\n */ return", "js")[1] == [(" */", COMMENT), (" ", ""), ("return", KEYWORD)]


def test_preview_changes_nothing() -> None:
    palette = make_context().palette
    highlighter, other = Highlighter(palette, "python"), Highlighter(palette, "python")

    for line in ('x = """a', "b", '"""', "return"):
        highlighter.preview(line[:1] + '"""')
        assert highlighter.preview(line) == other.line(line)
        highlighter.line(line)


def test_unknown_languages_and_long_lines_are_plain() -> None:
    assert lines_of("return 1", "no such") == [[("return 1", "")]]
    assert lines_of("return " + "1" * 2000, "python") == [[("return " + "1" * 2000, "")]]
    assert lines_of("", "python") == [[]]


@each(
    ("name", "language"),
    [
        ("src/a.py", "python"),
        ("C:\\x\\A.PY", "python"),
        ("a.d.ts", "typescript"),
        ("Makefile", "make"),
        ("x/CMakeLists.txt", "cmake"),
        ("a.sql", "sql"),
        ("a.h", "c"),
        ("archive.tar.gz", ""),
        ("README", ""),
        ("", ""),
    ],
)
def test_names_of_files_tell_the_language(name: str, language: str) -> None:
    assert language_of(name) == language


_LANGUAGES = [
    "python",
    "js",
    "tsx",
    "html",
    "php",
    "yaml",
    "json",
    "ruby",
    "c++",
    "sql",
    "bash",
    "markdown",
    "html+jinja",
]


@given(
    st.sampled_from(_LANGUAGES),
    st.lists(st.sampled_from([*"{}()[]<>/*'\"`#$%=:-\\ \n", "<?php", "/*", "*/", '"""', "x1"])),
)
@settings(deadline=None)
def test_text_stays_the_same(language: str, pieces: list[str]) -> None:
    code = "".join(pieces)

    assert text_of(lines_of(code, language)) == code.split("\n")
