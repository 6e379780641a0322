import subprocess
import sys
from itertools import pairwise

import wcwidth
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.width import cells, clip, expand_tabs, fit, graphemes, is_narrow, plain

WOMAN_TECHNOLOGIST = "\U0001f469\u200d\U0001f4bb"
FLAG = "\U0001f1e9\U0001f1ea"
THUMB_WITH_SKIN = "\U0001f44d\U0001f3fd"
RED_HEART = "\u2764\ufe0f"
E_ACUTE = "e\u0301"

# Text as people and models write it, sequences and marks among it.
TEXTS = st.lists(
    st.sampled_from(
        [
            "a",
            "word",
            " ",
            "  ",
            "-",
            "é",
            "─",
            "漢",
            "字。",
            "かな",
            "한",
            "「",
            "ก็",
            "\u3000",
            "https://example.org/a/long/path",
        ]
    )
    | st.sampled_from([WOMAN_TECHNOLOGIST, FLAG, THUMB_WITH_SKIN, RED_HEART, E_ACUTE]),
    max_size=40,
).map("".join)


def test_every_character_taken_for_narrow_takes_one_cell_and_joins_with_nothing() -> None:
    narrow = [char for char in map(chr, range(0x20, 0x3100)) if char != "\x7f" and is_narrow(char)]

    assert len(narrow) > 2000
    for char in narrow:
        assert wcwidth.width(char) == 1, hex(ord(char))
        assert list(wcwidth.iter_graphemes(f"a{char}b")) == ["a", char, "b"], hex(ord(char))
    for before, after in pairwise(narrow):
        assert list(wcwidth.iter_graphemes(before + after)) == [before, after]


def test_sequences_are_measured_as_one_character() -> None:
    for picture in (WOMAN_TECHNOLOGIST, FLAG, THUMB_WITH_SKIN, RED_HEART, "漢"):
        assert cells(picture) == 2
        assert list(graphemes(f"a{picture}b")) == ["a", picture, "b"]
    assert cells(E_ACUTE) == 1


def test_neither_ascii_nor_borders_nor_spinners_load_wcwidth() -> None:
    program = (
        "import sys; from kaa.tui import width, layout; "
        "width.cells('─│╭ ⠋⠙ › é ✓…'); layout.wrap([('plain ─ text', '1')], 5); width.fit('\\x1b[1m──\\x1b[0m', 1); "
        "assert 'wcwidth' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


@given(TEXTS, st.integers(0, 30))
def test_clipping_takes_as_much_as_fits(text: str, width: int) -> None:
    clipped = clip(text, width)

    assert text.startswith(clipped)
    assert cells(clipped) <= width
    following = next(graphemes(text[len(clipped) :]), None)
    assert following is None or cells(clipped) + cells(following) > width


def test_tabs_go_to_the_next_stop_in_every_line() -> None:
    assert expand_tabs("a\tb\n\tc") == "a   b\n    c"
    assert expand_tabs("漢\tb\n漢字\tc") == "漢  b\n漢字    c"


def test_fitting_keeps_a_line_that_fits_as_it_is() -> None:
    line = "\x1b[1;31m漢字\x1b[0m"

    assert fit(line, 4) is line


def test_fitting_ends_the_style_and_the_link_that_it_cuts() -> None:
    line = "\x1b[1mbold \x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\x1b[0m"

    assert fit(line, 7) == "\x1b[1mbold \x1b]8;;https://example.org\x1b\\li\x1b]8;;\x1b\\\x1b[0m"
    assert fit(line, 2) == "\x1b[1mbo\x1b[0m"


@given(TEXTS, st.integers(0, 30))
def test_fitted_lines_fit(text: str, width: int) -> None:
    assert plain(fit(f"x\x1b[3m{text}\x1b[0my", width)) == clip(f"x{text}y", width)


def test_marks_of_prompts_take_no_room_and_stay_when_a_line_is_cut() -> None:
    line = "\x1b]133;A\x1b\\\x1b[1mdo it\x1b[0m"

    assert plain(line) == "do it"
    assert fit(line, 2) == "\x1b]133;A\x1b\\\x1b[1mdo\x1b[0m"
