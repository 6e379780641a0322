"""Files of other agents begin with fields that are YAML, or nearly; whatever they say, reading goes on."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kaa.components.frontmatter import document_in, hint_of, is_true, names_of, text_of
from tests.support.tables import each


def test_fields_and_body() -> None:
    document = document_in("---\nname: a\ntools: [x, y]\nversion: 1.10\noff: no\n---\n\n# Title\n---\nText.\n")

    assert document.fields == {"name": "a", "tools": ["x", "y"], "version": "1.10", "off": "no"}
    assert document.body == "# Title\n---\nText."
    assert document.problem == ""


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    assert document_in("\ufeff---\r\nname: a\r\n---\r\nText.\r\n").fields == {"name": "a"}


def test_a_file_without_fields_is_all_body() -> None:
    assert document_in("# Title\n\n---\nname: a\n---\n").fields == {}
    assert document_in("").body == ""


def test_a_line_that_is_no_yaml_is_a_field_nevertheless() -> None:
    document = document_in("---\nname: 'a'\ndescription: Use when: a file is \"big\"\nlist: [\n---\nText.")

    assert document.fields == {"name": "a", "description": 'Use when: a file is "big"'}
    assert "not valid YAML" in document.problem
    assert document.body == "Text."


def test_a_hint_in_brackets_is_text_as_it_stands_there() -> None:
    hint = "[file] [format]"

    assert document_in(f"---\nargument-hint: {hint}\nmodel: [x]\n---\nText.").fields == {"argument-hint": hint}
    assert hint_of(document_in("---\nargument-hint: [issue]\n---\nText.").fields["argument-hint"]) == "[issue]"
    assert hint_of(hint) == hint
    assert hint_of(None) == ""


def test_what_expands_or_has_no_end_is_a_problem() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"

    assert "aliases" in document_in(f"---\n{bomb}\n---\nText.").problem
    assert "no end" in document_in("---\nname: a\n\nText.").problem
    assert "more than" in document_in(f"---\nname: {'a' * 70_000}\n---\n").problem
    assert "10 lists" in document_in(f"---\na: {'[' * 3_000}{']' * 3_000}\n---\n").problem


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(document_in(f"---\n{text}\n---\nbody").body, str)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")), max_size=40)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), TEXTS | st.lists(TEXTS), min_size=1))
def test_what_yaml_writes_is_read(fields: dict[str, object]) -> None:
    document = document_in(f"---\n{yaml.safe_dump(fields, allow_unicode=True)}---\nbody")

    assert document.problem == ""
    assert document.fields == fields


def test_names_are_lists_or_texts() -> None:
    assert names_of(["a", "b c", 7]) == ("a", "b c")
    assert names_of("Bash(git add *), Read  Grep") == ("Bash(git add *)", "Read", "Grep")
    assert names_of(None) == ()
    assert text_of("two\n lines") == "two lines"
    assert text_of(["a"]) == ""
    assert is_true("True")
    assert not is_true("maybe")


@each(
    "text",
    ["@babel users: call it", "`make` runs: this", "%s formats", "{file} checks", "{file}", "#1 for tests"],
)
def test_a_description_may_begin_like_something_of_yaml(text: str) -> None:
    document = document_in(f"---\nname: a\ndescription: {text}\n---\nText.")

    assert text_of(document.fields["description"]) == text
