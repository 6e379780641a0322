"""Everything that happens in the conversation, as blocks of the document."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.core.events import (
    AgentEnd,
    AutoRetryEnd,
    AutoRetryStart,
    BudgetUpdate,
    CacheMiss,
    CompactionEnd,
    Event,
    ExtensionEntry,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelFallback,
    ResultsShortened,
    ToolArgumentsReplaced,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    UserCommandEnd,
    UserCommandStart,
    UserCommandUpdate,
)
from kaa.core.messages import AssistantMessage, ExtensionNote, ToolResultMessage, UserMessage
from kaa.frontends.interactive.transcript.command_card import CommandCard, CommandEnd
from kaa.frontends.interactive.transcript.notices import (
    Earlier,
    Notice,
    NoticeKind,
    Retry,
    budget_update,
    cache_miss,
    ending,
    model_fallback,
    reminding,
)
from kaa.frontends.interactive.transcript.summaries import TO_MODEL, SummaryBlock, condensed
from kaa.frontends.interactive.transcript.user_message import UserMessageBlock, split_content
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.document import Block, Document

if TYPE_CHECKING:
    from kaa.frontends.interactive.transcript.reply import ReplyBlocks
    from kaa.frontends.interactive.transcript.tool_card import ToolCard
    from kaa.session.transcript import DisplayEntry

# Entries of a resumed session that are painted on the main screen: laying them out takes about 0.1 s.
RECENT = 200


class TranscriptView:
    """Fills the document. Whatever happens is only noted here; it is laid out with the next frame."""

    def __init__(self, document: Document, view: ViewOptions) -> None:
        self._document = document
        self._view = view
        self._reply: ReplyBlocks | None = None  # the one that streams
        self._cards: dict[str, ToolCard] = {}  # of calls without a result, by the call's id
        self._retry: Retry | None = None
        self._command: CommandCard | None = None
        self._last_answer = ""
        self._has_loaded = False  # a session's entries stand first

    def show(self, event: Event) -> None:
        """Show an event, if it is one to show."""
        match event:
            case MessageUpdate(assistant_message_event=change):
                self._current_reply().update(change)
            case ToolExecutionUpdate(tool_call_id=call_id, delta=delta, skipped_bytes=skipped):
                if call_id in self._cards:
                    self._cards[call_id].print(delta, skipped)
            case MessageStart(message=AssistantMessage()):
                self._reply = None
            case MessageEnd(message=message):
                self._end_message(message)
            case ToolExecutionStart(tool_call_id=call_id, tool_name=name, args=arguments):
                self._card(call_id, name).run(arguments)
            case ToolExecutionEnd(tool_call_id=call_id, tool_name=name):
                self._card(call_id, name).end(event.result, event.duration_ms)
                del self._cards[call_id]
            case AgentEnd(reason=reason, error=error):
                self._give_up()
                end = ending(self._view, reason, error)
                if end is not None:
                    self.add(end)
                if (reminder := reminding(self._view, event)) is not None:
                    self.add(reminder)
            case UserCommandStart() | UserCommandUpdate() | UserCommandEnd():
                self._show_command(event)
            case _:
                self._show_aside(event)

    def load(self, entries: "Sequence[DisplayEntry]") -> None:
        """Show a session that is resumed, behind what is there: the last entries, and that there are others.

        The others can be scrolled to on the full screen, unless another session is shown above.

        Args:
            entries: of a `kaa.session.transcript.Transcript`. They are read when shown, so the session has
                to stay open.

        Raises:
            SessionReadError: the disk failed.
        """
        # Lazily: a new session has no entries, and reading them takes most of the session's code.
        from kaa.frontends.interactive.transcript.stored import EarlierBlocks, StoredBlocks, last_answer_in

        first = max(0, len(entries) - RECENT)
        self._document.earlier = [] if self._has_loaded else EarlierBlocks(self._view, entries, first)
        self._has_loaded = True
        if first:
            self.add(Earlier(self._view, first))
        self._document.blocks += StoredBlocks(self._view, entries).make(first, len(entries))
        self._last_answer = last_answer_in(entries)

    def go_on(self, entries: "Sequence[DisplayEntry]") -> None:
        """Show where the conversation goes on in another place of its session: the last of what was said there."""
        from kaa.frontends.interactive.transcript.stored import StoredBlocks, last_answer_in, last_exchange

        self._give_up()
        self._document.blocks += StoredBlocks(self._view, entries).make(last_exchange(entries), len(entries))
        self._last_answer = last_answer_in(entries)

    def notice(self, text: str, kind: NoticeKind = "info") -> Notice:
        """Say something that is no part of the conversation."""
        notice = Notice(self._view, text, kind)
        self.add(notice)
        return notice

    def add(self, block: Block) -> None:
        """Put a block at the end."""
        self._document.blocks.append(block)

    def clear(self) -> None:
        """Begin with an empty document. The screen is to be painted anew."""
        self._reply = self._retry = self._command = None
        self._cards = {}
        self._last_answer = ""
        self._has_loaded = False
        self._document.replace([])

    def last_answer(self) -> str:
        """The text of the last reply that has one, as the model wrote it; empty if there is none."""
        return self._last_answer

    def code_blocks(self) -> list[tuple[str, str]]:
        """The code blocks of the last answer: language and code."""
        # Lazily: the Markdown parser is needed with the first answer only.
        from kaa.tui.components.markdown import code_blocks

        return code_blocks(self.last_answer())

    def _current_reply(self) -> "ReplyBlocks":
        if self._reply is None:
            # Lazily: Markdown is needed with the first reply; `preload.py` sees to it that nobody waits for it then.
            from kaa.frontends.interactive.transcript.reply import ReplyBlocks

            self._reply = ReplyBlocks(self._view, self.add)
        return self._reply

    def _end_message(self, message: UserMessage | AssistantMessage | ToolResultMessage) -> None:
        match message:
            case UserMessage(note=ExtensionNote(display=False)):
                pass
            case UserMessage(content=content, note=ExtensionNote() as note):
                self._add_extension_block(note, split_content(content)[0])
            case UserMessage(content=content, origin=origin) if origin != "person":
                self.add(SummaryBlock(self._view, TO_MODEL, split_content(content)[0]))
            case UserMessage() if self._view.linear:
                pass  # it was typed as a line, which the terminal has shown
            case UserMessage(content=content):
                self.add(UserMessageBlock(self._view, *split_content(content)))
            case AssistantMessage():
                reply = self._current_reply()
                reply.end(message)
                self._reply = None
                self._cards |= {call_id: card for call_id, card in reply.cards.items() if not card.finished}
                if message.text.strip():
                    self._last_answer = message.text
            case ToolResultMessage():  # the end of the tool's execution has it too
                pass

    def _add_extension_block(self, note: ExtensionNote, text: str = "") -> None:
        # Lazily, as above.
        from kaa.frontends.interactive.transcript.displayed import ExtensionBlock
        from kaa.session.as_user_message import is_of_kaa, label_of, type_of

        kind = type_of(note.extension, note.kind)
        label = TO_MODEL if text and is_of_kaa(kind) else label_of(kind)
        self.add(ExtensionBlock(self._view, label, text, note.details))

    def _card(self, call_id: str, tool: str) -> "ToolCard":
        """The card of a call; a new one if nobody has heard of the call."""
        if call_id not in self._cards:
            # Lazily, as above.
            from kaa.frontends.interactive.transcript.tool_card import ToolCard

            card = self._cards[call_id] = ToolCard(self._view, tool)
            self.add(card)
        return self._cards[call_id]

    def _give_up(self) -> None:
        """Nothing more will come of what is still open."""
        for card in self._cards.values():
            card.give_up()
        self._cards = {}
        if self._retry is not None:
            self._retry.give_up()
            self._retry = None

    def _show_aside(self, event: Event) -> None:
        """Show what is said beside the conversation."""
        match event:
            case ToolArgumentsReplaced(tool_call_id=call_id, tool_name=name, args=arguments, source=source):
                self._card(call_id, name).replace(arguments, source)
            case AutoRetryStart() | AutoRetryEnd():
                self._show_retry(event)
            case ExtensionEntry(extension=extension, kind=kind, display=display):
                self._add_extension_block(ExtensionNote(extension, kind, details={"display": display}))
            case CompactionEnd():
                self._show_compaction(event)
            case ResultsShortened():
                self.notice(f"{event.sentence[:1].upper()}{event.sentence[1:]}.", "info")
            case ModelFallback():
                self.add(model_fallback(self._view, event))
            case BudgetUpdate() if event.state != "reached":  # that is asked about, or told at the end
                self.add(budget_update(self._view, event))
            case CacheMiss() if self._view.cache_misses:
                self.add(cache_miss(self._view, event))
            case _:
                pass

    def _show_retry(self, event: AutoRetryStart | AutoRetryEnd) -> None:
        if isinstance(event, AutoRetryEnd):
            if self._retry is not None:
                self._retry.end(success=event.success, attempts=event.attempt)
                self._retry = None
            return
        if self._retry is not None and self._document.blocks[-1] is not self._retry:
            self._retry.give_up()  # something came in between: the next try is told of behind it
            self._retry = None
        if self._retry is None:
            self._retry = Retry(self._view)
            self.add(self._retry)
        self._retry.start(event)

    def _show_compaction(self, event: CompactionEnd) -> None:
        if event.summary:
            self.add(condensed(self._view, event))
        elif event.aborted:
            self.notice("The compaction was stopped.", "warning")
        elif event.error:
            self.notice(f"The compaction failed: {event.error}", "error")
        if event.warning:
            self.notice(event.warning, "warning")

    def _show_command(self, event: UserCommandStart | UserCommandUpdate | UserCommandEnd) -> None:
        if isinstance(event, UserCommandStart):
            self._command = CommandCard(self._view, event.command, in_context=event.in_context)
            self.add(self._command)
        elif self._command is None:
            return
        elif isinstance(event, UserCommandUpdate):
            self._command.print(event.delta, event.skipped_bytes)
        else:
            output, path = event.output, event.full_output_path
            self._command.end(CommandEnd(output, event.exit_code, event.cancelled, path, event.duration_ms))
            self._command = None
