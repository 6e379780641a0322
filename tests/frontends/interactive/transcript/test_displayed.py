"""Results with display values, as a session file may have them."""

from kaa.core.messages import Json, ToolCall
from kaa.ext.api import Fields, Text, display_result
from kaa.frontends.interactive.transcript.tool_card import ToolCard
from tests.frontends.interactive.transcript.conversations import Session, result, text_of
from tests.support.tables import each


def _shown(details: Json) -> str:
    session = Session()
    card = ToolCard(session.view, "board")
    card.end(result(ToolCall("1", "board", {}), "the plain text", details=details))
    return text_of([card])


def test_display_values_take_the_place_of_the_text() -> None:
    details = display_result("x", [Text("\x1b[31mred", "error"), Fields((("branch", "main"),))]).details

    shown = _shown(details)

    assert "\\x1b[31mred" in shown
    assert "branch  main" in shown
    assert "the plain text" not in shown


@each(
    "display", [[], "x", [{"type": "text"}], [{"type": "odd"}], [{"type": "text", "text": "x", "role": "loud"}], [[]]]
)
def test_details_that_are_something_else_show_the_text(display: Json) -> None:
    assert "the plain text" in _shown({"display": display})


def test_a_session_file_cannot_send_escape_sequences() -> None:
    values: Json = [
        {"type": "text", "text": "\x1b]0;title\x07"},
        {"type": "table", "columns": ["\x9b"], "rows": [["\x1b"]]},
    ]

    assert not set(_shown({"display": values})) & {"\x1b", "\x07", "\x9b"}
