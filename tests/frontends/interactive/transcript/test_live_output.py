from hypothesis import given
from hypothesis import strategies as st

from kaa.core.terminal_text import plain_text
from kaa.frontends.interactive.transcript.excerpt import tail
from kaa.frontends.interactive.transcript.live_output import LiveOutput


@given(st.lists(st.text("ab\n", max_size=12), max_size=12), st.integers(1, 6))
def test_it_is_the_end_of_everything_that_came(pieces: list[str], count: int) -> None:
    output = LiveOutput()
    for piece in pieces:
        output.append(piece)

    assert output.end(count) == tail("".join(pieces), count)


@given(st.lists(st.integers(0, 9000), max_size=8))
def test_only_the_end_of_much_output_is_kept_but_all_lines_are_counted(sizes: list[int]) -> None:
    output, everything = LiveOutput(), ""
    for size in sizes:
        piece = "".join(f"line {number}\n" for number in range(size // 8))
        output.append(piece)
        everything += piece

    assert output.end(5) == tail(plain_text(everything), 5)


def test_a_single_piece_may_be_long() -> None:
    output = LiveOutput()

    output.append("x\n" * 1_000_000)

    assert output.end(2) == (["x", "x"], 999_998)


def test_skipped_bytes_are_added_up() -> None:
    output = LiveOutput()

    output.append("a", 10)
    output.append("", 5)

    assert output.skipped_bytes == 15
