import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.document import Document
from tests.tui.blocks import Dock, LinesBlock


def document_of(*blocks: LinesBlock, dock: Dock | None = None) -> Document:
    document = Document(dock or Dock("> ", cursor=(0, 2)))
    document.blocks.extend(blocks)
    return document


def test_the_tail_is_what_has_not_left_and_the_dock() -> None:
    document = document_of(LinesBlock(["a", "b"]), LinesBlock(["c"]))

    assert document.tail(80) == (["a", "b", "c", "> "], 3, (3, 2))
    document.leave(1)
    assert document.tail(80) == (["b", "c", "> "], 2, (2, 2))


def test_blocks_are_told_how_many_of_their_lines_have_left() -> None:
    first, second = LinesBlock(["a", "b"]), LinesBlock(["c", "d"])
    document = document_of(first, second)
    document.tail(80)

    document.leave(3)

    assert (first.frozen, second.frozen) == (2, 1)


def test_what_a_block_adds_late_does_not_tear_a_later_one_apart() -> None:
    early, later, last = LinesBlock(["a"], finished=False), LinesBlock(["b", "c", "d"]), LinesBlock(["e"])
    document = document_of(early, later, last)
    document.tail(80)
    document.leave(2)

    early.change(["a", "and"])
    lines = document.tail(80).lines
    document.leave(3)

    assert lines == ["c", "d", "and", "e", "> "]
    assert (early.frozen, later.frozen, last.frozen) == (2, 3, 0)
    assert document.tail(80).lines == ["e", "> "]


def test_what_a_block_heard_of_when_all_of_it_left_is_not_lost() -> None:
    block = LinesBlock(["a", "b"], finished=False)
    document = document_of(block, LinesBlock(["c"]))
    document.tail(80)

    block.change(["a", "b", "ended"])
    block.finished = True
    document.leave(2)

    assert document.tail(80).lines == ["ended", "c", "> "]


def test_a_block_that_cannot_be_rendered_does_not_spoil_what_was_there() -> None:
    class Broken(LinesBlock):
        def render(self, width: int) -> list[str]:
            raise RuntimeError

    document = document_of(LinesBlock(["a", "b"]))
    document.tail(80)
    document.blocks.append(Broken([]))
    with pytest.raises(RuntimeError):
        document.tail(80)

    document.leave(1)
    document.blocks.pop()

    assert document.tail(80).lines == ["b", "> "]


def test_finished_blocks_that_have_left_are_not_asked_again() -> None:
    blocks = [LinesBlock([f"line {number}"]) for number in range(1000)]
    document = document_of(*blocks)
    document.tail(80)
    document.leave(990)
    document.tail(80)
    asked = sum(block.times_asked for block in blocks)

    document.tail(80)

    assert sum(block.times_asked for block in blocks) == asked + 10


def test_a_block_that_is_not_finished_goes_on_after_all_its_lines_have_left() -> None:
    live, later = LinesBlock(["running"], finished=False), LinesBlock(["later"])
    document = document_of(live, later)
    document.tail(80)
    document.leave(2)

    live.change(["running", "done"])

    assert document.tail(80).lines == ["done", "> "]


def test_a_block_without_lines_yet_shows_them_when_they_come() -> None:
    empty = LinesBlock([], finished=False)
    document = document_of(LinesBlock(["a"]), empty)
    document.tail(80)
    document.leave(1)
    document.tail(80)
    document.leave(0)

    empty.change(["text"])

    assert document.tail(80).lines == ["text", "> "]


def test_a_block_that_shrank_above_the_edge_goes_on_behind_what_left() -> None:
    block = LinesBlock(["1", "2", "3"], finished=False)
    document = document_of(block)
    document.tail(80)
    document.leave(2)

    block.change(["1"])
    assert document.tail(80).lines == ["> "]
    block.change(["x", "y", "z"])
    assert document.tail(80).lines == ["z", "> "]


def test_a_block_that_forgets_what_has_left_costs_others_nothing() -> None:
    class Forgetful(LinesBlock):
        def freeze(self, lines: int) -> None:
            pass

    block, second = Forgetful(["1", "2", "3"], finished=False), LinesBlock(["a", "b"])
    document = document_of(block, second)
    document.tail(80)
    document.leave(3)
    block.change(["1"])
    document.tail(80)

    document.leave(1)

    assert document.tail(80).lines == ["b", "> "]


def test_it_knows_whether_anything_has_left() -> None:
    document = document_of(LinesBlock(["a", "b"]))
    document.tail(80)
    assert not document.has_left

    document.leave(1)

    assert document.has_left


def test_after_a_reset_everything_comes_again_and_may_change() -> None:
    block = LinesBlock(["1", "2"])
    document = document_of(block)
    document.tail(80)
    document.leave(2)
    block.change(["one", "two"])

    document.reset()

    assert document.tail(80).lines == ["one", "two", "> "]
    assert block.frozen == 0


def test_a_reset_brings_back_the_last_rows_and_asks_no_block_before_them() -> None:
    blocks = [LinesBlock([f"{number}a", f"{number}b"]) for number in range(10_000)]
    document = document_of(*blocks)

    document.reset(max_rows=5)

    assert document.tail(80).lines == ["9997b", "9998a", "9998b", "9999a", "9999b", "> "]
    assert not any(block.times_asked for block in blocks[:9997])
    assert blocks[9997].frozen == 1


def test_other_blocks_replace_all() -> None:
    document = document_of(LinesBlock(["old"]))
    document.tail(80)
    document.leave(1)

    document.replace([LinesBlock(["new"])])

    assert document.tail(80).lines == ["new", "> "]


@given(st.lists(st.lists(st.just("x"), max_size=4), max_size=8), st.lists(st.integers(0, 5), max_size=20))
def test_lines_leave_once_and_in_order(heights: list[list[str]], departures: list[int]) -> None:
    blocks = [LinesBlock([f"{index}.{row}" for row in range(len(lines))]) for index, lines in enumerate(heights)]
    everything = [line for block in blocks for line in block.lines]
    document = document_of(*blocks)

    left: list[str] = []
    for departure in departures:
        tail = document.tail(80)
        count = min(departure, tail.dock)
        left += tail.lines[:count]
        document.leave(count)

    assert left + document.tail(80).lines[:-1] == everything


def test_prompts_and_what_follows_them_are_marked_for_the_terminal() -> None:
    document = document_of(
        LinesBlock(["", "hello"]),
        LinesBlock(["", "do it"], is_prompt=True),
        LinesBlock(["", "and that"], is_prompt=True),
        LinesBlock(["", "done"]),
        LinesBlock(["", "more"]),
    )
    unmarked = document.tail(80).lines

    document.marks_prompts = True
    lines = document.tail(80).lines

    start, output = "\x1b]133;A\x1b\\", "\x1b]133;C\x1b\\"
    marks = {3: start, 5: start, 6: output}
    assert lines == [marks.get(row, "") + line for row, line in enumerate(unmarked)]


def test_what_follows_a_prompt_is_marked_when_the_prompt_has_left() -> None:
    document = document_of(LinesBlock(["do it"], is_prompt=True), LinesBlock(["", "done"]))
    document.marks_prompts = True
    document.tail(80)

    document.leave(1)

    assert document.tail(80).lines == ["\x1b]133;C\x1b\\", "done", "> "]


def test_pictures_are_left_as_they_are() -> None:
    picture = "\x1b_Gr=2;AAAA\x1b\\"
    document = document_of(LinesBlock([picture, "", "look"], is_prompt=True), LinesBlock([picture, ""]))
    document.marks_prompts = True

    assert document.tail(80).lines == [picture, "", "\x1b]133;A\x1b\\look", picture, "", "> "]
