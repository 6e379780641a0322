"""Loads what the first reply and the first card need, so that nobody waits for it when they come."""

from kaa.core.events import TextDelta, ToolCallDelta, ToolCallStart
from kaa.frontends.interactive.transcript.reply import ReplyBlocks
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.context import Context, Size
from kaa.tui.document import Block
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme

_TEXT = "*text* → 你好 `code`\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
_ARGUMENTS = '{"path": "a.py", "content": "x = 1"}'
_WIDTH = 80


def preload() -> None:
    """Lay out a reply that nobody sees. Takes about 150 ms, so it is called in a thread that nobody waits for."""
    blocks: list[Block] = []
    reply = ReplyBlocks(ViewOptions(Context(Palette(Theme("", {})), Keymap({}), Size())), blocks.append)
    for change in (TextDelta(0, _TEXT), ToolCallStart(1, "", "write"), ToolCallDelta(1, _ARGUMENTS)):
        reply.update(change)
    for block in blocks:
        block.render(_WIDTH)
