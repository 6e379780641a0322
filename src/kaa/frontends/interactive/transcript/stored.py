"""A session's entries as blocks: the last ones at once, the earlier ones when somebody looks at them."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import overload

from kaa.core.messages import AssistantMessage, ToolResultMessage, UserMessage
from kaa.frontends.interactive.footer import short_count
from kaa.frontends.interactive.transcript.command_card import CommandCard, CommandEnd
from kaa.frontends.interactive.transcript.displayed import ExtensionBlock
from kaa.frontends.interactive.transcript.notices import Notice, ending
from kaa.frontends.interactive.transcript.reply import ReplyBlocks
from kaa.frontends.interactive.transcript.summaries import TO_MODEL, SummaryBlock
from kaa.frontends.interactive.transcript.tool_card import ToolCard
from kaa.frontends.interactive.transcript.user_message import UserMessageBlock, split_content
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.session.as_user_message import is_of_kaa, label_of
from kaa.session.compaction.undoing import leaves_nothing_out
from kaa.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    CustomNote,
    MessageEntry,
)
from kaa.session.errors import SessionReadError
from kaa.session.transcript import DisplayEntry, Unreadable
from kaa.tui.document import Block


class BlockGroup:
    """Blocks below each other, where one is expected: what one entry of a session is shown as."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = tuple(blocks)
        self._parts: list[list[str]] = []
        self._lines: list[str] = []

    @property
    def is_prompt(self) -> bool:
        """Whether it begins with what the user said."""
        return any(getattr(block, "is_prompt", False) for block in self._blocks)

    def render(self, width: int) -> list[str]:
        """The lines of all of them."""
        parts = [block.render(width) for block in self._blocks]
        if len(parts) != len(self._parts) or any(new is not old for new, old in zip(parts, self._parts, strict=True)):
            self._parts = parts
            self._lines = parts[0] if len(parts) == 1 else [line for part in parts for line in part]
        return self._lines

    def freeze(self, lines: int) -> None:
        """Each keeps those of its lines that are among the first ones."""
        for block, part in zip(self._blocks, self._parts, strict=False):
            block.freeze(min(lines, len(part)))
            lines -= min(lines, len(part))

    @property
    def settled(self) -> int:
        """How many of the first lines are final."""
        settled = 0
        for block, part in zip(self._blocks, self._parts, strict=False):
            settled += block.settled
            if block.settled < len(part):
                break
        return settled


# Blocks of earlier entries that are kept: more than are on a screen at once, and little memory.
_KEPT = 256
# Entries in which the last answer is looked for: a reply without text, and many results, may follow it.
_SEARCHED = 1000
# Enough to see where one is; a turn with many tools is shown by its end.
_EXCHANGE = 12


class StoredBlocks:
    """Makes blocks of entries. Results are shown in the cards of their calls.

    Args:
        entries: of the session, as it is shown.
    """

    def __init__(self, view: ViewOptions, entries: Sequence[DisplayEntry]) -> None:
        self._view = view
        self._entries = entries
        self._blocks: list[Block] = []
        self._cards: dict[str, ToolCard] = {}

    def make(self, start: int, stop: int) -> list[Block]:
        """The blocks of the entries from `start` to before `stop`."""
        self._blocks, self._cards = [], {}
        for index, entry in enumerate(self._entries[start:stop], start):
            self._show(index, start, entry)
        self._finish_calls(stop)
        return self._blocks

    def _show(self, index: int, start: int, entry: DisplayEntry) -> None:
        view = self._view
        match entry:
            case MessageEntry(message=ToolResultMessage() as result):
                if result.tool_call_id in self._cards:
                    self._cards.pop(result.tool_call_id).end(result)
                elif not self._is_call_before(start, index, result.tool_call_id):
                    self._add_result(result)
            case MessageEntry(message=UserMessage() as message):
                self._blocks.append(UserMessageBlock(view, *split_content(message.content)))
            case MessageEntry(message=AssistantMessage() as message):
                self._show_reply(message)
            case MessageEntry(message=BashExecution() as run):
                card = CommandCard(view, run.command, in_context=not run.exclude_from_context)
                card.end(CommandEnd(run.output, run.exit_code, run.cancelled, run.full_output_path))
                self._blocks.append(card)
            case MessageEntry(message=CustomNote(display=True) as said) | (
                CustomMessage(display=True) | Custom() as said
            ):
                self._blocks.append(_said_by_extension(view, said))
            case Compaction() if leaves_nothing_out(entry):
                self._blocks.append(Notice(view, "The compaction was undone: nothing is left out."))
            case Compaction(tokens_before=tokens):
                size = f": {short_count(tokens)} tokens" if tokens else ""
                self._blocks.append(SummaryBlock(view, f"summary of the conversation before{size}", entry.summary))
            case BranchSummary():
                self._blocks.append(SummaryBlock(view, "summary of another branch", entry.summary))
            case Unreadable():
                self._blocks.append(Notice(view, "This version of kaa cannot show this entry.", "warning"))
            case _:  # the footer says which model answers
                pass

    def _show_reply(self, message: AssistantMessage) -> None:
        self._give_up()
        reply = ReplyBlocks(self._view, self._blocks.append)
        reply.end(message)
        self._cards = reply.cards
        if message.stop_reason in ("error", "aborted", "length"):
            end = ending(self._view, message.stop_reason, message.error_message)
            if end is not None:
                self._blocks.append(end)

    def _add_result(self, result: ToolResultMessage) -> None:
        """A result of which the call is missing."""
        card = ToolCard(self._view, result.tool_name)
        card.end(result)
        self._blocks.append(card)

    def _is_call_before(self, start: int, index: int, call_id: str) -> bool:
        """Whether the call of a result is in a reply before `start`, whose card has the result too."""
        first = start
        while first > 0 and _stands_among_results(self._entries[first]):
            first -= 1
        if first == start or not all(map(_stands_among_results, self._entries[start:index])):
            return False
        match self._entries[first]:
            case MessageEntry(message=AssistantMessage() as message):
                return any(call.id == call_id for call in message.tool_calls)
            case _:
                return False

    def _finish_calls(self, stop: int) -> None:
        """Give the calls of the last reply their results, which follow it."""
        index = stop
        while self._cards and index < len(self._entries):
            entry = self._entries[index]
            if not _stands_among_results(entry):
                break
            result = _result(entry)
            if result is not None and result.tool_call_id in self._cards:
                self._cards.pop(result.tool_call_id).end(result)
            index += 1
        self._give_up()

    def _give_up(self) -> None:
        for card in self._cards.values():
            card.give_up()
        self._cards = {}


class EarlierBlocks(Sequence[Block]):
    """A block for each of the first entries, made when it is asked for; a number of them is kept.

    Args:
        entries: of the session, as it is shown.
    """

    def __init__(self, view: ViewOptions, entries: Sequence[DisplayEntry], count: int) -> None:
        self._view = view
        self._entries = entries
        self._count = count
        self._kept: OrderedDict[int, Block] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> list[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | list[Block]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        index %= self._count
        block = self._kept.pop(index, None) or self._make(index)
        self._kept[index] = block
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return block

    def _make(self, index: int) -> Block:
        try:
            return BlockGroup(StoredBlocks(self._view, self._entries).make(index, index + 1))
        except SessionReadError as error:
            return Notice(self._view, f"This message cannot be read: {error}", "error")


def _result(entry: DisplayEntry) -> ToolResultMessage | None:
    match entry:
        case MessageEntry(message=ToolResultMessage() as result):
            return result
        case _:
            return None


def _stands_among_results(entry: DisplayEntry) -> bool:
    """Whether it is a result, or an entry that an extension can add while tools run."""
    return isinstance(entry, Custom) or _result(entry) is not None


def _said_by_extension(view: ViewOptions, said: CustomNote | CustomMessage | Custom) -> Block:
    label = label_of(said.custom_type) or "note"
    if isinstance(said, Custom):
        return ExtensionBlock(view, label, "", {"display": said.display})
    if is_of_kaa(said.custom_type):
        label = TO_MODEL
    return ExtensionBlock(view, label, split_content(said.content)[0], said.details)


def last_answer_in(entries: Sequence[DisplayEntry]) -> str:
    """The text of the last reply that has one, among the last entries; empty if there is none."""
    recent = (entries[-1 - index] for index in range(min(len(entries), _SEARCHED)))
    return next(filter(str.strip, map(_answer_of, recent)), "")


def last_exchange(entries: Sequence[DisplayEntry]) -> int:
    """Where the last message of the user's begins among the last few entries; else where these begin."""
    first = max(0, len(entries) - _EXCHANGE)
    for index in range(len(entries) - 1, first - 1, -1):
        match entries[index]:
            case MessageEntry(message=UserMessage()):
                return index
            case _:
                pass
    return first


def _answer_of(entry: DisplayEntry) -> str:
    match entry:
        case MessageEntry(message=AssistantMessage() as message):
            return message.text
        case _:
            return ""
