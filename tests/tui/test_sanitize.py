import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.sanitize import one_line, sanitize, squeezed
from tests.support.tables import each

# Tried by people: title, link, clipboard, window report, key definition, 8-bit forms, status queries, charset, reset.
_SEQUENCES = (
    "\x1b]0;owned\x07",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJmIH4=\x07",
    "\x1b[21t",
    "\x1bP1$r0m\x1b\\",
    "\x9b31m",
    "\x9d0;owned\x9c",
    "\x90+q544e\x9c",
    "\x1b[?2026$p",
    "\x1b[6n",
    "\x1b(0",
    "\x1bc",
    "\x0e",
    "\x08\x08\x08",
    "a\rb",
    "\x1b[?1049h",
    "\x1b_Gf=100;AAAA\x1b\\",
)
_SCREEN_CHANGING = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))} - {"\n", "\t"}
_REORDERING = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


def _assert_harmless(clean: str) -> None:
    assert not set(clean) & _SCREEN_CHANGING
    assert not set(clean) & _REORDERING
    assert not [char for char in clean if 0xE0000 <= ord(char) <= 0xE00FF]
    clean.encode()  # no lone surrogates


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_a_terminal_acts_on_is_left(text: str) -> None:
    _assert_harmless(sanitize(text))


@given(st.lists(st.sampled_from(_SEQUENCES) | st.text(max_size=3), max_size=6).map("".join), st.data())
def test_a_text_split_anywhere_is_as_harmless(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))

    _assert_harmless(sanitize(text[:at]) + sanitize(text[at:]))


@given(
    st.text(
        st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Mn", "Lo", "Cn")) | st.sampled_from("\n\t")
    )
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert sanitize(text) == text


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    clean = sanitize(text)

    assert sanitize(clean) == clean


@each(
    "text",
    [
        "👩‍💻 ❤️ ❤️‍🔥 👨‍👩‍👧‍👦 🏳️‍🌈 1️⃣ #️⃣",
        "می‌خواهم",
        "क्‍ष",
        "葛\U000e0100城",
        "日本語 Ελληνικά עברית العربية",
        unicodedata.normalize("NFD", "Ångström"),
    ],
)
def test_scripts_and_emoji_keep_their_joiners(text: str) -> None:
    assert sanitize(text) == text


@each(
    ("text", "shown"),
    [
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("pass\u200bword", "pass\\u200bword"),
        ("a\U000e0041\U000e0042", "a\\U000e0041\\U000e0042"),
        ("a\u200db", "a\\u200db"),
        ("😀\ufe00\ufe01", "😀\\ufe00\\ufe01"),
        ("a\U000e0100", "a\\U000e0100"),
        ("name\udcff", "name\\udcff"),
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_what_hides_is_shown(text: str, shown: str) -> None:
    assert sanitize(text) == shown


def test_names_keep_their_blanks_in_one_line_and_prose_does_not() -> None:
    text = "two  words\r\n\tand \x1b[2J"

    assert one_line(text) == "two  words  and \\x1b[2J"
    assert squeezed(text) == "two words and \\x1b[2J"
