"""Screens as SVG."""

import re
from xml.etree import ElementTree as ET

from tests.support.screen import Screen
from tests.support.screen_svg import DARK, LIGHT, draw

_TEXT = "{http://www.w3.org/2000/svg}text"


def texts(svg: str) -> "list[ET.Element]":
    """The runs of text, without the window's title."""
    return [element for element in ET.fromstring(svg).iter(_TEXT) if "textLength" in element.attrib]


def shown(data: str) -> Screen:
    screen = Screen(20, 3)
    screen.feed(data + "\x1b[?25l")
    return screen


def test_runs_of_one_style_are_texts_at_their_columns() -> None:
    first, second = texts(draw(shown("ab\x1b[1;31mcd"), "t"))

    assert (first.text, first.get("x"), first.get("fill")) == ("ab", "0.0", DARK.foreground)
    assert (second.text, second.get("x"), second.get("font-weight")) == ("cd", "16.8", "bold")


def test_wide_characters_stand_alone_and_wide_gaps_are_left_out() -> None:
    runs = texts(draw(shown("a b日本  c"), "t"))

    assert [(run.text, run.get("x"), run.get("textLength")) for run in runs] == [
        ("a b", "0.0", "25.2"),
        ("日", "25.2", "16.8"),
        ("本", "42.0", "16.8"),
        ("c", "75.6", "8.4"),
    ]


def test_text_and_title_are_escaped() -> None:
    svg = draw(shown("<&>"), 'a "<b>"')

    assert texts(svg)[0].text is not None
    assert "<&>" in str(texts(svg)[0].text)
    assert ET.fromstring(svg).get("aria-label") == 'a "<b>"'


def test_inverse_cells_swap_their_colours() -> None:
    svg = draw(shown("\x1b[7mx"), "t")

    assert f'fill="{DARK.foreground}"/>' in svg
    assert texts(svg)[0].get("fill") == DARK.background


def test_the_cursor_is_drawn() -> None:
    screen = Screen(20, 3)

    assert draw(screen, "t").count(DARK.foreground) > draw(shown(""), "t").count(DARK.foreground)


def test_the_same_screen_gives_the_same_bytes() -> None:
    assert draw(shown("ab"), "t", LIGHT) == draw(shown("ab"), "t", LIGHT)
    assert not re.search(r"nan|inf", draw(shown("ab"), "t"))
