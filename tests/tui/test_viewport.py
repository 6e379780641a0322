from collections.abc import Iterator, Sequence
from typing import overload

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.document import Block, Document
from kaa.tui.viewport import Position, Viewport
from tests.tui.blocks import Dock, LinesBlock


def viewport_of(*heights: int, prompts: tuple[int, ...] = ()) -> tuple[Viewport, Document]:
    document = Document(Dock("> "))
    for index, height in enumerate(heights):
        lines = [f"{index}.{line}" for line in range(height)]
        document.blocks.append(LinesBlock(lines, is_prompt=index in prompts))
    return Viewport(document), document


def texts(viewport: Viewport, height: int = 4) -> list[str]:
    return [row.text for row in viewport.show(80, height)]


def test_it_shows_the_end_and_asks_no_block_before_it() -> None:
    viewport, document = viewport_of(*[2] * 10_000)

    assert texts(viewport) == ["9998.0", "9998.1", "9999.0", "9999.1"]
    assert not any(block.times_asked for block in document.blocks[:9998] if isinstance(block, LinesBlock))


def test_it_follows_the_end() -> None:
    viewport, document = viewport_of(4, 4)
    viewport.show(80, 4)

    document.blocks.append(LinesBlock(["new"]))

    assert texts(viewport) == ["1.1", "1.2", "1.3", "new"]


def test_what_is_read_stays_where_it_is_when_lines_come() -> None:
    viewport, document = viewport_of(4, 4)
    viewport.show(80, 4)
    viewport.scroll(-3)
    before = texts(viewport)

    document.blocks.append(LinesBlock(["new", "newer"]))

    assert texts(viewport) == before == ["0.1", "0.2", "0.3", "1.0"]
    assert viewport.new_lines == 2
    assert not viewport.is_following


def test_new_lines_are_counted_from_where_the_end_was_left_first() -> None:
    viewport, document = viewport_of(20)
    viewport.show(80, 4)
    viewport.scroll(-3)
    document.blocks.append(LinesBlock(["new"]))

    viewport.scroll(-3)

    assert viewport.new_lines == 1


def test_positions_in_a_block_that_has_shrunk_are_behind_its_end() -> None:
    viewport, _ = viewport_of(2, 2)

    assert [row.text for row in viewport.backwards(Position(1, 99))] == ["1.1", "1.0", "0.1", "0.0"]


def test_lines_that_an_open_block_gets_are_new_as_well() -> None:
    viewport, document = viewport_of(6)
    viewport.show(80, 4)
    viewport.scroll(-1)

    block = document.blocks[0]
    assert isinstance(block, LinesBlock)
    block.change([*block.lines, "more"])

    assert viewport.new_lines == 1


def test_scrolled_down_to_the_end_it_follows_again() -> None:
    viewport, document = viewport_of(10)
    viewport.show(80, 4)
    viewport.scroll(-3)
    viewport.scroll(3)
    viewport.show(80, 4)

    document.blocks.append(LinesBlock(["new"]))

    assert texts(viewport)[-1] == "new"
    assert viewport.new_lines == 0


def test_it_stops_at_the_beginning() -> None:
    viewport, _ = viewport_of(3, 3)
    viewport.show(80, 4)

    viewport.scroll(-100)

    assert texts(viewport) == ["0.0", "0.1", "0.2", "1.0"]
    assert viewport.progress == 0


def test_it_goes_to_the_beginning_and_to_the_end() -> None:
    viewport, _ = viewport_of(*[3] * 1000)
    viewport.show(80, 4)

    viewport.to_start()
    assert texts(viewport)[0] == "0.0"
    viewport.to_end()
    assert texts(viewport)[-1] == "999.2"
    assert viewport.progress == 1


def test_it_goes_from_prompt_to_prompt() -> None:
    viewport, _ = viewport_of(*[3] * 12, prompts=(0, 4, 8))
    viewport.show(80, 4)

    seen: list[str] = []
    for step in (-1, -1, -1, -1, 1, 1, 1):
        viewport.to_prompt(step)
        seen.append(texts(viewport)[0])

    assert seen == ["8.0", "4.0", "0.0", "0.0", "4.0", "8.0", "10.2"]


def test_the_previous_prompt_is_the_one_being_read_if_it_began_above() -> None:
    viewport, _ = viewport_of(3, 20, prompts=(1,))
    viewport.show(80, 4)

    viewport.to_prompt(-1)

    assert texts(viewport)[0] == "1.0"


def test_revealed_lines_come_to_the_middle_unless_they_are_shown() -> None:
    viewport, _ = viewport_of(10, 10)
    viewport.show(80, 4)

    viewport.reveal(Position(0, 5))
    assert texts(viewport) == ["0.3", "0.4", "0.5", "0.6"]
    viewport.reveal(Position(0, 6))
    assert texts(viewport) == ["0.3", "0.4", "0.5", "0.6"]


def test_blocks_before_the_document_are_shown_when_they_are_reached() -> None:
    class Built(Sequence[Block]):
        """Builds blocks when they are asked for."""

        def __init__(self) -> None:
            self.built: list[int] = []

        def __len__(self) -> int:
            return 1000

        @overload
        def __getitem__(self, index: int) -> Block: ...
        @overload
        def __getitem__(self, index: slice) -> Sequence[Block]: ...
        def __getitem__(self, index: int | slice) -> Block | Sequence[Block]:
            assert isinstance(index, int)
            self.built.append(index)
            return LinesBlock([f"earlier {index}"])

        def __iter__(self) -> Iterator[Block]:
            raise AssertionError("builds them all")

    viewport, document = viewport_of(4)
    document.earlier = built = Built()
    assert texts(viewport) == ["0.0", "0.1", "0.2", "0.3"]
    assert built.built == []

    viewport.scroll(-2)

    assert texts(viewport) == ["earlier 998", "earlier 999", "0.0", "0.1"]
    assert set(built.built) == {998, 999}


@pytest.mark.parametrize("height", [1, 2, 50])
def test_an_empty_document_can_be_scrolled(height: int) -> None:
    viewport, _ = viewport_of()

    for move in (viewport.to_start, viewport.to_end, lambda: viewport.scroll(-3), lambda: viewport.scroll(3)):
        move()
        assert texts(viewport, height) == []
        assert viewport.new_lines == 0
    viewport.to_prompt(-1)
    assert texts(viewport, height) == []


@given(
    st.lists(st.integers(0, 5), max_size=12),
    st.lists(st.one_of(st.integers(-9, 9), st.sampled_from(["append", "start", "end"])), max_size=15),
    st.integers(1, 8),
)
def test_it_is_a_window_on_the_list_of_all_lines(heights: list[int], moves: list[int | str], height: int) -> None:
    viewport, document = viewport_of(*heights)
    lines = [line for block in document.blocks for line in block.render(80)]
    top = max(0, len(lines) - height)
    following = True
    texts(viewport, height)
    for move in moves:
        if move == "append":
            document.blocks.append(LinesBlock(["a", "b"]))
            lines += ["a", "b"]
        elif move == "start":
            viewport.to_start()
            top, following = 0, False
        elif move == "end":
            viewport.to_end()
            following = True
        elif isinstance(move, int):
            viewport.scroll(move)
            top, following = max(0, top + move), following and (move >= 0 or top == 0)
        end = max(0, len(lines) - height)
        following = following or top >= end
        top = end if following else top

        assert texts(viewport, height) == lines[top : top + height]
