"""Blocks of a conversation with those of its agents between them, indented, behind the calls that began these."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

from kaa.frontends.interactive.transcript.notices import Notice
from kaa.frontends.interactive.transcript.stored import EarlierBlocks
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.session.nested_transcripts import NestedTranscript
from kaa.session.transcript import DisplayEntry
from kaa.tui.document import Block
from kaa.tui.sanitize import squeezed
from kaa.tui.style import paint

# Deeper ones stand below each other: there has to be room for what they said.
_MOST_INDENTED = 4


class _Place(NamedTuple):
    blocks: Sequence[Block]
    at: int
    depth: int


class NestedBlocks(Sequence[Block]):
    """All of them; made when they are asked for."""

    def __init__(self, view: ViewOptions, entries: Sequence[DisplayEntry], nested: Sequence[NestedTranscript]) -> None:
        self._view = view
        self._places = list(self._laid(entries, nested, 0))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> list[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | list[Block]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        place = self._places[index]
        block = place.blocks[place.at]
        return _Indented(self._view, block, place.depth) if place.depth else block

    def _laid(
        self, entries: Sequence[DisplayEntry], nested: Sequence[NestedTranscript], depth: int
    ) -> Iterator[_Place]:
        blocks = EarlierBlocks(self._view, entries, len(entries))
        done = 0
        for agent in sorted(nested, key=lambda one: one.at):
            yield from (_Place(blocks, index, depth) for index in range(done, agent.at))
            done = agent.at
            head: list[Block] = [Notice(self._view, f"Agent {squeezed(agent.agent)}: {squeezed(agent.task)}")]
            if agent.problem:
                head.append(Notice(self._view, agent.problem, "warning"))
            yield from (_Place(head, index, depth + 1) for index in range(len(head)))
            yield from self._laid(agent.entries, agent.nested, depth + 1)
        yield from (_Place(blocks, index, depth) for index in range(done, len(entries)))


class _Indented:
    """A block with a line at its left for each agent that it is within. None of it is a prompt of the user's."""

    def __init__(self, view: ViewOptions, block: Block, depth: int) -> None:
        self._block = block
        self._prefix = paint(
            f"{view.context.glyphs.vertical} " * min(depth, _MOST_INDENTED), view.context.palette["dim"]
        )
        self._cells = 2 * min(depth, _MOST_INDENTED)

    def render(self, width: int) -> list[str]:
        return [f"{self._prefix}{line}" for line in self._block.render(max(1, width - self._cells))]

    def freeze(self, lines: int) -> None:
        self._block.freeze(lines)

    @property
    def settled(self) -> int:
        return self._block.settled
