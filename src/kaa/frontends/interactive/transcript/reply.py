"""One reply of the model as blocks, while it streams and when it is read from a session."""

from collections.abc import Callable

from kaa.core.events import (
    AssistantMessageEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from kaa.core.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.tool_card import ToolCard
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.markdown import MarkdownStream
from kaa.tui.document import Block
from kaa.tui.layout import wrap


class _AnswerBlock:
    """Text of the model, as it comes. Its first line is empty."""

    is_prompt = False

    def __init__(self, view: ViewOptions) -> None:
        self._stream = MarkdownStream(view.context)
        self._has_ended = False
        self._inner: list[str] = []
        self._lines: list[str] = [""]

    def write(self, text: str) -> None:
        """The model has written more."""
        self._stream.append(text)

    def end(self) -> None:
        """The model has written all of it."""
        self._has_ended = True
        self._stream.finish()

    def render(self, width: int) -> list[str]:
        lines = self._stream.render(width)
        if lines is not self._inner:
            self._inner = lines
            self._lines = ["", *lines]
        return self._lines

    def freeze(self, lines: int) -> None:
        if lines != 1:  # the empty one stays anyway
            self._stream.freeze(max(lines - 1, 0))

    @property
    def settled(self) -> int:
        return _settled(self._stream, len(self._lines), has_ended=self._has_ended)


class _Thinking(Piece):
    """The model's reasoning as it comes, or one line in its place."""

    def __init__(self, view: ViewOptions) -> None:
        super().__init__(view)
        self._stream = MarkdownStream(view.context, "thinkingText")

    def write(self, text: str) -> None:
        """The model has thought more."""
        self._stream.append(text)
        self.changed()

    def end(self) -> None:
        """The model has thought all of it."""
        self._stream.finish()
        self.finished = True
        self.changed()

    def layout(self, width: int) -> list[str]:
        """The text, or that there is one."""
        if self.view.thinking:
            return self._stream.render(width)
        text = f"thinking{self.context.glyphs.ellipsis}{self.view.hint('app.thinking.toggle', 'shows it')}"
        return wrap([(text, self.context.palette["thinkingText"])], width)

    @property
    def settled(self) -> int:
        if self.finished or not self.view.thinking or self.left:
            return super().settled
        return _settled(self._stream, self.height, has_ended=False)


def _settled(stream: MarkdownStream, height: int, *, has_ended: bool) -> int:
    """How many lines are final, the empty one included; not all of them as long as others may come."""
    settled = 1 + stream.settled
    return settled if has_ended else max(min(settled, height - 1), 0)


class ReplyBlocks:
    """Makes a block for each part of the reply, as soon as there is something to show.

    Args:
        add: puts a block at the end of the document.

    Attributes:
        cards: of the tool calls, by the call's id.
    """

    def __init__(self, view: ViewOptions, add: Callable[[Block], None]) -> None:
        self._view = view
        self._add = add
        self._texts: dict[int, _AnswerBlock | _Thinking] = {}  # those that still grow, by the index of the content
        self._blanks: dict[int, str] = {}  # white space that some text may follow
        self._calls: dict[int, ToolCard] = {}
        self._is_empty = True
        self.cards: dict[str, ToolCard] = {}

    def update(self, change: AssistantMessageEvent) -> None:
        match change:
            case TextDelta(content_index=index, delta=delta):
                self._write(index, delta, _AnswerBlock)
            case ThinkingDelta(content_index=index, delta=delta):
                self._write(index, delta, _Thinking)
            case ToolCallDelta(content_index=index, delta=delta):
                if index in self._calls:
                    self._calls[index].write(delta)
            case TextEnd(content_index=index) | ThinkingEnd(content_index=index):
                self._end_text(index)
            case ToolCallStart(content_index=index):
                self._calls[index] = self._card(change.id, change.name)
            case ToolCallEnd(content_index=index, tool_call=call):
                card = self._calls.pop(index, None) or self._card(call.id, call.name)
                card.call(call.arguments)
            case _:
                pass

    def end(self, message: AssistantMessage) -> None:
        """The reply is complete, or broke off."""
        if self._is_empty:  # it did not stream
            self.show(message)
        for index in list(self._texts):
            self._end_text(index)
        if message.stop_reason in ("error", "aborted"):
            for card in self.cards.values():
                card.give_up()

    def show(self, message: AssistantMessage) -> None:
        """All of a reply at once."""
        for index, content in enumerate(message.content):
            match content:
                case TextContent(text=text):
                    self._write(index, text, _AnswerBlock)
                    self._end_text(index)
                case ThinkingContent(thinking=thinking):
                    self._write(index, thinking, _Thinking)
                    self._end_text(index)
                case ToolCall():
                    self._card(content.id, content.name).call(content.arguments)

    def _write(self, index: int, text: str, kind: type[_AnswerBlock] | type[_Thinking]) -> None:
        block = self._texts.get(index)
        if block is None:
            text = self._blanks.pop(index, "") + text
            if not text.strip():
                self._blanks[index] = text
                return
            text = text.lstrip("\n")
            block = self._texts[index] = kind(self._view)
            self._put(block)
        block.write(text)

    def _end_text(self, index: int) -> None:
        block = self._texts.pop(index, None)
        if block is not None:
            block.end()

    def _card(self, call_id: str, name: str) -> ToolCard:
        card = self.cards[call_id] = ToolCard(self._view, name)
        self._put(card)
        return card

    def _put(self, block: Block) -> None:
        self._is_empty = False
        self._add(block)
