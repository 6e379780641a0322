from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.tui.components.markdown import Markdown, code_blocks
from kaa.tui.palette import Theme
from tests.support.painted import assert_well_formed, make_context, visible


def shown(text: str, width: int = 40, *, ascii_only: bool = False, hyperlinks: bool = False) -> list[str]:
    context = make_context(ascii_only=ascii_only, hyperlinks=hyperlinks)
    lines = Markdown(context, dedent(text)).render(width)
    assert_well_formed(lines, width)
    return visible(lines)


def painted(text: str, *, hyperlinks: bool = False) -> list[str]:
    return Markdown(make_context(hyperlinks=hyperlinks), text).render(60)


def test_headings_stand_out_and_say_their_level_from_the_third_on() -> None:
    assert painted("# One") == ["\x1b[33;4mOne\x1b[0m"]
    assert painted("## Two") == ["\x1b[33mTwo\x1b[0m"]
    assert shown("### Three\n#### Four") == ["### Three", "", "#### Four"]
    assert shown("Set\n===") == ["Set"]


def test_paragraphs_are_reflowed_and_hard_breaks_kept() -> None:
    assert shown("one\ntwo three four\\\nfive\n\nsix", 12) == ["one two", "three four", "five", "", "six"]


def test_emphasis_becomes_styles_and_nests() -> None:
    assert painted("a **b** *c* ~~d~~ ***e***") == [
        "a \x1b[1mb\x1b[0m \x1b[3mc\x1b[0m \x1b[9md\x1b[0m \x1b[3;1me\x1b[0m"
    ]


def test_inline_code_keeps_what_markup_would_be() -> None:
    assert painted("`*a* <b>`") == ["\x1b[32m*a* <b>\x1b[0m"]


def test_lists_nest_and_keep_their_numbers_and_gaps() -> None:
    text = """\
        - one
          more
          - nested

            second paragraph
        - two

        3. three
        3. four
        10) ten

        - [ ] open
        - [x] done
        -
        """

    assert shown(text) == [
        "• one more",
        "  • nested",
        "",
        "    second paragraph",
        "• two",
        "",
        "3. three",
        "4. four",
        "",
        "10) ten",
        "",
        "[ ] open",
        "[x] done",
        "•",
    ]


def test_list_items_wrap_under_their_text() -> None:
    assert shown("- some words here\n- and here", 12) == ["• some words", "  here", "• and here"]


def test_quotes_have_a_bar() -> None:
    assert shown("> one\n>\n> - two\nlazy\n\n>", 20) == ["▎ one", "▎", "▎ • two lazy", "", "▎"]
    assert shown("> one", ascii_only=True) == ["| one"]


def test_code_is_fenced_and_never_reflowed() -> None:
    text = """\
        ```python title="x"
        def function():
            return    1

        ```
        """

    assert shown(text) == ["```python", "def function():", "    return    1", "", "```"]
    assert shown(text, 8) == ["```pytho", "n", "def func", "tion():", "    retu", "rn    1", "", "```"]


def test_code_is_highlighted_if_its_language_is_known() -> None:
    assert painted("```python\nreturn 1\n```")[1] == "\x1b[94mreturn\x1b[0m \x1b[95m1\x1b[0m"
    assert painted("```unknown\nreturn 1\n```")[1] == "return 1"


def test_code_in_items_and_indented_code() -> None:
    assert shown("- a\n  ```\n  x  y\n  ```\n\n      z") == ["• a", "  ```", "  x  y", "  ```", "", "      z"]
    assert shown("    z\n\n\ty") == ["    z", "", "    y"]


def test_links_show_where_they_lead() -> None:
    text = "[text](https://x.org/a) <https://y.org> [z](src/z.py) <me@x.org>"

    assert shown(text, 80) == ["text (https://x.org/a) https://y.org z (src/z.py) me@x.org"]


def test_links_that_can_be_followed_need_no_address() -> None:
    assert painted("[a](https://x.org)", hyperlinks=True) == [
        "\x1b]8;;https://x.org\x1b\\\x1b[34ma\x1b[0m\x1b]8;;\x1b\\"
    ]
    assert shown("[a](https://x.org) [b](src/b.py)", hyperlinks=True) == ["a b (src/b.py)"]
    assert "\x1b]8;;file:///a" in painted("[a](file:///a)", hyperlinks=True)[0]
    assert shown("[a](file:///a.html)", hyperlinks=True) == ["a (file:///a.html)"]  # a command may have written it
    assert "\x1b]8;;https://x.org/y_(z)\x1b\\" in painted("see https://x.org/y_(z).", hyperlinks=True)[0]


def test_a_link_cannot_pretend_to_be_another_one() -> None:
    assert shown("[https://good.org](https://evil.org)", hyperlinks=True) == ["https://good.org (https://evil.org)"]


@pytest.mark.parametrize("url", ["javascript:x", "vbscript:x", "data:text/html,x", "ssh://x", "x-kaa:run"])
def test_only_harmless_schemes_are_links(url: str) -> None:
    assert "\x1b]8" not in "".join(painted(f"[a]({url}) <{url}>", hyperlinks=True))
    assert url in shown(f"[a]({url})")[0]


def test_links_keep_their_target_when_they_wrap() -> None:
    context = make_context(hyperlinks=True)

    lines = Markdown(context, "[two words](https://x.org)").render(6)

    assert visible(lines) == ["two", "words"]
    assert all(line.startswith("\x1b]8;;https://x.org\x1b\\") for line in lines)


def test_references_may_be_defined_later() -> None:
    assert shown("[a][b] [b] [c]\n\n[B]: https://b.org") == ["a (https://b.org) b (https://b.org) [c]"]


def test_images_are_their_description_and_address() -> None:
    assert shown("![A *cat*](cat.png)") == ["[A cat] (cat.png)"]
    assert shown("![](data:image/png;base64," + "A" * 500 + ")", 200)[0].endswith("…)")


def test_html_is_text() -> None:
    assert shown("a <b>c</b>\n\n<script>\nx\n</script>") == ["a <b>c</b>", "", "<script>", "x", "</script>"]


TABLE = """\
| Name | Qty | Note |
|:-----|----:|:----:|
| a | 1 | x |
| some longer name | 100 | *em* |
| | 漢字 |
"""


def test_tables_are_aligned() -> None:
    assert shown(TABLE) == [
        "Name             │  Qty │ Note",
        "─────────────────┼──────┼─────",
        "a                │    1 │  x",
        "some longer name │  100 │  em",
        "                 │ 漢字 │",
    ]


def test_cells_wrap_where_the_table_is_too_wide() -> None:
    assert shown(TABLE, 24) == [
        "Name       │  Qty │ Note",
        "───────────┼──────┼─────",
        "a          │    1 │  x",
        "───────────┼──────┼─────",
        "some       │  100 │  em",
        "longer     │      │",
        "name       │      │",
        "───────────┼──────┼─────",
        "           │ 漢字 │",
    ]


def test_rows_are_records_where_columns_would_be_too_narrow() -> None:
    assert shown("|Name|Qty|Note|\n|-|-|-|\n|a|1|x|\n|b|2|y|", 12) == [
        "Name: a",
        "Qty: 1",
        "Note: x",
        "──────────",
        "Name: b",
        "Qty: 2",
        "Note: y",
    ]


def test_cells_may_have_several_lines() -> None:
    assert shown("|a|b|\n|-|-|\n|1<br>22|3|") == ["a  │ b", "───┼──", "1  │ 3", "22 │"]


def test_tables_in_ascii() -> None:
    assert shown("|a|b|\n|-|-|\n|1|2|", ascii_only=True) == ["a | b", "--+--", "1 | 2"]


def test_a_rule_is_as_wide_as_the_text_may_be() -> None:
    assert shown("a\n\n---\nb", 5) == ["a", "", "─────", "", "b"]


def test_foreign_sequences_are_shown_not_obeyed() -> None:
    assert shown("a \x1b[31mb \u202e `\x07`") == ["a \\x1b[31mb \\u202e \\x07"]
    assert "\x1b" not in shown("&#x1b;[31m &#27;")[0]


def test_ideographs_break_anywhere() -> None:
    assert shown("漢字仮名交じり文", 6) == ["漢字仮", "名交じ", "り文"]


def test_base_style_is_under_everything() -> None:
    lines = Markdown(make_context(), "a **b**", style_token="accent").render(40)

    assert lines == ["\x1b[36ma \x1b[0m\x1b[36;1mb\x1b[0m"]


def test_another_theme_paints_anew() -> None:
    context = make_context()
    markdown = Markdown(context, "# a\n\n```py\nreturn\n```")
    first = markdown.render(40)

    assert markdown.render(40) is first
    context.palette.change(Theme("plain", {}))
    assert markdown.render(40) == ["\x1b[4ma\x1b[0m", "", "```py", "return", "```"]


def test_code_blocks_are_found_wherever_they_are() -> None:
    text = "```py\na\n```\n\n- x\n  ~~~ {.sh}\n  b\n\n  c\n  ~~~\n\n      d\n\n> ```rust,ignore\n> e"

    assert code_blocks(text) == [("py", "a"), ("sh", "b\n\nc"), ("", "d"), ("rust", "e")]


@pytest.mark.parametrize(
    "text",
    [
        "> " * 10_000 + "x",
        "- " * 10_000 + "x",
        "".join("  " * depth + "- x\n" for depth in range(200)),
        "[" * 10_000,
        "*a " * 10_000,
        "word " * 50_000,
        "漢" * 30_000,
        "- " + "x " * 30_000,
        "|a" * 300 + "\n" + "|-" * 300 + "\n" + "|b\n" * 50,
        "\x1b[31m" * 10_000,
        "\ud800" * 1000,
        "```\n" + "x" * 30_000,
        "a\n\n\n" * 3000 + "[a]: /x",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_texts_are_shown(text: str) -> None:
    lines = Markdown(make_context(), text).render(80)

    assert_well_formed(lines, 80)
    assert lines


def test_nothing_is_lost_where_nesting_is_too_deep() -> None:
    assert "".join(shown("> " * 500 + "here", 200)).endswith("here")


@given(st.text(), st.integers(-1, 100), st.booleans())
@settings(deadline=None)
def test_any_text_keeps_to_the_width(text: str, width: int, hyperlinks: bool) -> None:
    assert_well_formed(Markdown(make_context(hyperlinks=hyperlinks), text).render(width), max(1, width))
