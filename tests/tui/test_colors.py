from hypothesis import example, given
from hypothesis import strategies as st

from kaa.tui.colors import Color, Depth, Rgb, background, contrast, foreground, luminance, parse_hex, rgb_of
from tests.support.tables import each

CHANNELS = st.integers(0, 255)
COLORS = st.builds(Rgb, CHANNELS, CHANNELS, CHANNELS)


@each(
    ("text", "color"),
    [
        ("#0a0B0c", Rgb(10, 11, 12)),
        ("#fff", None),
        ("ffffff", None),
        ("#fffffg", None),
        ("#+12345", None),
        ("#１２３４５６", None),  # noqa: RUF001 - digits, but not ours
        ("", None),
    ],
)
def test_hexadecimal_colours(text: str, color: Rgb | None) -> None:
    assert parse_hex(text) == color


@each(
    ("index", "color"),
    [
        (9, Rgb(255, 0, 0)),
        (16, Rgb(0, 0, 0)),
        (196, Rgb(255, 0, 0)),
        (110, Rgb(135, 175, 215)),
        (231, Rgb(255, 255, 255)),
        (232, Rgb(8, 8, 8)),
        (255, Rgb(238, 238, 238)),
    ],
)
def test_the_256_colours(index: int, color: Rgb) -> None:
    assert rgb_of(index) == color


def test_contrast_of_black_and_white_is_the_highest() -> None:
    assert contrast(Rgb(0, 0, 0), Rgb(255, 255, 255)) == contrast(Rgb(255, 255, 255), Rgb(0, 0, 0)) == 21
    assert contrast(Rgb(9, 9, 9), Rgb(9, 9, 9)) == 1
    # The example of WCAG's technique G18: #777777 on white just fails.
    assert 4.4 < contrast(parse_hex("#777777") or Rgb(0, 0, 0), Rgb(255, 255, 255)) < 4.5


@each(
    ("color", "depth", "text", "fill"),
    [
        (Rgb(255, 135, 0), "truecolor", "38;2;255;135;0", "48;2;255;135;0"),
        (Rgb(255, 135, 0), "256", "38;5;208", "48;5;208"),
        (Rgb(120, 121, 119), "256", "38;5;243", "48;5;243"),
        (Rgb(250, 5, 5), "16", "91", "101"),
        (Rgb(200, 10, 10), "16", "31", "41"),
        (208, "truecolor", "38;5;208", "48;5;208"),
        (3, "256", "38;5;3", "48;5;3"),
        (3, "16", "33", "43"),
        (Rgb(250, 5, 5), "none", "", ""),
        (None, "truecolor", "", ""),
        (None, "16", "", ""),
    ],
)
def test_what_terminals_are_told(color: Color, depth: Depth, text: str, fill: str) -> None:
    assert foreground(color, depth, is_dark=True) == text
    assert background(color, depth) == fill


def test_text_is_never_in_the_colour_of_the_background_it_is_made_for() -> None:
    assert foreground(Rgb(5, 5, 5), "16", is_dark=True) != "30"
    assert foreground(Rgb(250, 250, 250), "16", is_dark=False) not in {"97", "37"}


def test_a_tint_that_16_colours_have_only_greys_for_is_left_out() -> None:
    assert [background(Rgb(*[level] * 3), "16") for level in (20, 40, 130, 230, 255)] == [""] * 5


@given(st.integers(16, 255))
def test_colours_that_the_terminal_has_become_themselves(index: int) -> None:
    nearest = foreground(rgb_of(index), "256", is_dark=True)

    assert rgb_of(int(nearest.removeprefix("38;5;"))) == rgb_of(index)


@given(COLORS)
@example(Rgb(0, 0, 51))
def test_no_colour_of_the_256_is_much_nearer_than_the_one_taken(color: Rgb) -> None:
    taken = rgb_of(int(foreground(color, "256", is_dark=True).removeprefix("38;5;")))

    distances = [sum(abs(a - b) for a, b in zip(color, rgb_of(index), strict=True)) for index in range(16, 256)]
    # The eye does not weigh the channels alike: one that is farther by half a step of the cube may look nearer.
    assert sum(abs(a - b) for a, b in zip(color, taken, strict=True)) <= min(distances) + 48


@given(COLORS)
def test_luminance_is_a_share(color: Rgb) -> None:
    assert 0 <= luminance(color) <= 1.0000001
