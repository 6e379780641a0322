import base64
import io

from PIL import Image

from kaa.core.events import MessageEnd
from kaa.core.messages import ImageContent, TextContent, ToolCall, UserMessage
from kaa.tui.components.image import Graphics
from kaa.tui.picture import is_picture, picture_rows
from tests.frontends.interactive.transcript.conversations import Session, begins, ends, result


def png(width: int, height: int) -> ImageContent:
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, "PNG")
    return ImageContent(base64.b64encode(out.getvalue()).decode(), "image/png")


READ = ToolCall("1", "read", {"path": "a.png"})
ASKS = MessageEnd(UserMessage((TextContent("what is it?"), png(90, 36))))


def test_images_are_described_where_they_cannot_be_drawn() -> None:
    session = Session().show(
        ASKS, begins(READ), *ends(READ, result(READ, "[image/png, 20x10 pixels]", images=(png(20, 10),)))
    )

    text = session.text()

    assert text.startswith("› what is it?\n[image: 90\u00d736 png, ")
    assert "\n\n✓ read a.png\n[image: 20\u00d710 png, " in text
    assert text.endswith("\n  image")


def test_images_are_drawn_where_the_terminal_can_below_the_text() -> None:
    session = Session().show(ASKS)
    session.text()

    session.view.draw_with(Graphics("kitty", (9, 18)))
    lines = session.painted()

    assert is_picture(lines[2])
    assert picture_rows(lines[2]) == 2
    assert lines[3:] == [""]


def test_who_wants_no_images_gets_none() -> None:
    session = Session(images=False).show(ASKS)
    session.view.draw_with(Graphics("kitty"))
    assert not any(map(is_picture, session.painted()))

    session.view.images = True

    assert any(map(is_picture, session.painted()))


def test_images_of_a_call_are_drawn_without_a_background() -> None:
    session = Session(styles={"toolSuccessBg": "48;5;2"}).show(begins(READ))
    session.view.draw_with(Graphics("iterm2"))

    session.show(*ends(READ, result(READ, "[image/png, 20x10 pixels]", images=(png(20, 10),))))

    assert sum(map(is_picture, session.painted())) == 1
