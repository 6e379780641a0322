"""What extensions show, as the requests of pi's protocol that need no answer (`extension_ui_request`)."""

from collections.abc import Callable, Collection
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate

# pi's names of the two places.
_PLACEMENTS = {"above": "aboveEditor", "below": "belowEditor"}


class ClientDisplay:
    """Sends it to the client, which shows what it can (`kaa.ext.showing.DisplayOutput`).

    Args:
        send: writes an object to the client.

    Attributes:
        shows: what the protocol has a method for.
    """

    shows: "Collection[DisplayKind]" = ("notice", "status", "widget", "editor", "title")

    def __init__(self, send: Callable[[object], None]) -> None:
        self._send = send
        self._numbers = count(1)

    def show(self, update: "DisplayUpdate") -> None:
        """Send a change."""
        self._send(
            {
                "type": "extension_ui_request",
                "id": f"display-{next(self._numbers)}",
                **_method(update),
                "extension": update.extension,
                "conversation": update.conversation,
            }
        )


def _method(update: "DisplayUpdate") -> dict[str, object]:
    """The method and its arguments. What is removed has no text and no lines. Keys begin with the extension's name."""
    # Lazily: few extensions show something.
    from kaa.core.display_values import plain_lines
    from kaa.ext.display import EditorText, NoticeShown, StatusSection, Widget, WindowTitle

    match update.change:
        case NoticeShown(text=text, level=level):
            return {"method": "notify", "message": text, "notifyType": level}
        case StatusSection(key=key, text=text):
            shown = {"statusText": text} if text else {}
            return {"method": "setStatus", "statusKey": f"{update.author}:{key}", **shown}
        case Widget(key=key, content=content, placement=placement):
            lines = {"widgetLines": plain_lines(content), "content": content} if content else {}
            where = {"widgetPlacement": _PLACEMENTS[placement]}
            return {"method": "setWidget", "widgetKey": f"{update.author}:{key}", **lines, **where}
        case WindowTitle(text=text):
            return {"method": "setTitle", "title": text or "kaa"}
        case EditorText(text=text, mode=mode):
            return {"method": "set_editor_text", "text": text, "mode": mode}
        case _:
            raise AssertionError(f"{update.change} has no method in the protocol")
