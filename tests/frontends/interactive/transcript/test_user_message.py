"""What the user said: word for word, or the beginning of it when nobody would read all of it again."""

import pytest

from kaa.frontends.interactive.transcript.user_message import UserMessageBlock
from kaa.tui.width import plain
from tests.frontends.interactive.transcript.conversations import Session


def _shown(text: str, *, expanded: bool = False, width: int = 60) -> list[str]:
    return [plain(line).rstrip() for line in UserMessageBlock(Session(expanded=expanded).view, text).render(width)]


def test_a_message_is_shown_word_for_word() -> None:
    assert _shown("do it\n\n  like this") == ["", "› do it", "", "    like this"]


def test_a_long_message_is_shown_in_short_and_says_how_to_see_more() -> None:
    text = "\n".join(f"line {number}" for number in range(1_000))

    shown = _shown(text)

    assert shown[1:21] == ["› line 0", *(f"  line {number}" for number in range(1, 20))]
    assert shown[21:] == ["  … 980 more lines hidden (Ctrl+O shows all)"]
    assert _shown(text, expanded=True)[-1] == "  line 999"


@pytest.mark.parametrize("expanded", [False, True])
def test_a_message_of_megabytes_in_one_line_has_an_end_on_the_screen(*, expanded: bool) -> None:
    shown = _shown("x" * 3_000_000, expanded=expanded)

    assert len(shown) < 5_000
    assert "more characters" in shown[-1]


def test_a_long_paste_is_folded_and_opens() -> None:
    paste = "\n".join(f"row {number}" for number in range(240))
    session = Session()
    session.view.pasted = lambda: [paste]

    block = UserMessageBlock(session.view, f"look at\n{paste}\nplease")

    assert [plain(line).rstrip() for line in block.render(60)][1:] == [
        "› look at",
        "  [pasted 240 lines]",
        "  please",
        "  (Ctrl+O shows all)",
    ]
    session.view.toggle_tools()
    assert plain(block.render(60)[-2]).rstrip() == "  row 239"
