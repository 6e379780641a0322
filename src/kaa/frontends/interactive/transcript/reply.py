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
from kaa.frontends.interactive.transcript.assistant_message import AnswerBlock, Thinking
from kaa.frontends.interactive.transcript.tool_card import ToolCard
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.document import Block


class ReplyBlocks:
    """Makes a block for each part of the reply, as soon as there is something to show.

    Args:
        view: how the transcript is looked at.
        add: puts a block at the end of the document.

    Attributes:
        cards: of the tool calls, by the call's id.
    """

    def __init__(self, view: ViewOptions, add: Callable[[Block], None]) -> None:
        self._view = view
        self._add = add
        self._texts: dict[int, AnswerBlock | Thinking] = {}  # those that still grow, by the index of the content
        self._blanks: dict[int, str] = {}  # white space that some text may follow
        self._calls: dict[int, ToolCard] = {}
        self._is_empty = True
        self.cards: dict[str, ToolCard] = {}

    def update(self, change: AssistantMessageEvent) -> None:
        """The reply grew."""
        match change:
            case TextDelta(content_index=index, delta=delta):
                self._write(index, delta, AnswerBlock)
            case ThinkingDelta(content_index=index, delta=delta):
                self._write(index, delta, Thinking)
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
                    self._write(index, text, AnswerBlock)
                    self._end_text(index)
                case ThinkingContent(thinking=thinking):
                    self._write(index, thinking, Thinking)
                    self._end_text(index)
                case ToolCall():
                    self._card(content.id, content.name).call(content.arguments)

    def _write(self, index: int, text: str, kind: type[AnswerBlock] | type[Thinking]) -> None:
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
