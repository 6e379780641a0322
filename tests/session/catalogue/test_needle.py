"""Lines are found by their bytes exactly where their texts match, however JSON writes them."""

import json
import re

from hypothesis import example, given
from hypothesis import strategies as st

from kaa.session.catalogue.matching import exactly
from kaa.session.catalogue.searching import Needle

_CHARACTERS = 'abAB01 _."\\/\n\t\0<é É äÄß привет ПР 中文\U0001f40d'
_TEXTS = st.text(_CHARACTERS, max_size=12)
_WORDS = st.lists(st.text(_CHARACTERS.replace(" ", ""), min_size=1, max_size=4), min_size=1, max_size=3)


@st.composite
def _json_strings(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and a JSON string of it with escapes here and there."""
    text, written = draw(_TEXTS), []
    for character in text:
        plain = json.dumps(character, ensure_ascii=draw(st.booleans()))[1:-1]
        if draw(st.integers(0, 9)) == 0:
            units = character.encode("utf-16-be").hex()
            plain = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
        written.append(plain)
    return text, '"' + "".join(written) + '"'


@example([("0ÄÉ", '"\\u0030Ä\\u00c9"')], ["ÄÉ"])
@given(st.lists(_json_strings(), max_size=6), _WORDS)
def test_every_line_that_matches_is_found(strings: list[tuple[str, str]], words: list[str]) -> None:
    terms = [word for word in (" ".join(word.split()) for word in words) if word and not re.search(r"\s", word)]
    data = "\n".join(written for _, written in strings).encode()

    found = list(Needle(terms).lines(data))

    wanted = [
        written.encode() for text, written in reversed(strings) if all(exactly(term).search(text) for term in terms)
    ]
    assert [line for line in found if line in wanted] == wanted


def test_few_other_lines_are_found() -> None:
    data = b'"one word"\n"another WORD here"\n"nothing"\n"word two"'

    assert list(Needle(["word", "here"]).lines(data)) == [b'"another WORD here"']
