from kaa.tui.document import Document
from kaa.tui.linear import Linear
from tests.tui.blocks import Dock, LinesBlock


class Streaming(LinesBlock):
    """Says how many of its lines are settled."""

    def __init__(self, lines: list[str], settled: int) -> None:
        super().__init__(lines, finished=False)
        self.count = settled

    @property
    def settled(self) -> int:
        return self.count


def presented(*blocks: LinesBlock, ascii_only: bool = False) -> tuple[Linear, Document, list[str]]:
    document = Document(Dock("> "))
    document.blocks.extend(blocks)
    written: list[str] = []
    return Linear(document, written.append, 80, ascii_only=ascii_only), document, written


def test_lines_are_written_once_when_they_are_settled() -> None:
    block = Streaming(["one", "two, perhaps"], settled=1)
    linear, _, written = presented(block)

    linear.update()
    linear.update()
    assert written == ["one\n"]
    assert block.frozen == 1

    block.change(["one", "two", "three"])
    block.count = 3
    linear.update()
    assert "".join(written) == "one\ntwo\nthree\n"


def test_a_block_waits_for_those_before_it() -> None:
    first, second = LinesBlock(["running"], finished=False), LinesBlock(["second"])
    linear, _, written = presented(first, second)

    linear.update()
    assert written == []

    first.finished = True
    linear.update()
    assert "".join(written) == "running\nsecond\n"


def test_a_block_that_is_new_and_empty_is_waited_for() -> None:
    block = LinesBlock([])
    linear, _, written = presented(block)
    linear.update()

    block.change(["text"])
    linear.update()

    assert written == ["text\n"]


def test_flushing_writes_the_rest_and_what_comes_later_follows() -> None:
    block = LinesBlock(["half a"], finished=False)
    linear, document, written = presented(block)

    linear.flush()
    block.change(["half a line", "more"])
    block.finished = True
    document.blocks.append(LinesBlock(["next"]))
    linear.update()

    assert "".join(written) == "half a\nmore\nnext\n"


def test_neither_movements_nor_styles_are_written() -> None:
    linear, _, written = presented(LinesBlock(["\x1b[1mbold\x1b[0m   ", "\x1b_Ga=T,i=1,r=2;AAAA\x1b\\"]))

    linear.update()

    assert written == ["bold\n[picture]\n"]


def test_there_is_only_ascii_if_that_is_wanted() -> None:
    linear, _, written = presented(LinesBlock(["╭─ café → “naïve” ✓ 漢"]), ascii_only=True)

    linear.update()

    assert written == ['+- cafe -> "naive" ok ?\n']
