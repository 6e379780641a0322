from kaa.tui.document import Document
from kaa.tui.search_bar import SearchMatch, TranscriptSearch
from kaa.tui.viewport import Position, Viewport
from tests.tui.blocks import Dock, LinesBlock


def viewport_of(*blocks: list[str]) -> Viewport:
    document = Document(Dock("> "))
    document.blocks.extend(LinesBlock(lines) for lines in blocks)
    return Viewport(document)


def found(
    viewport: Viewport, text: str, *, start: Position | None = None, steps: tuple[int, ...] = ()
) -> SearchMatch | None:
    search = TranscriptSearch(viewport, text, start or Position(len(viewport) - 1, 10_000))
    while search.work():
        pass
    for step in steps:
        search.go(step)
        while search.work():
            pass
    return search.match


def places(viewport: Viewport, text: str, steps: int, step: int = -1) -> list[tuple[int, int]]:
    matches = [found(viewport, text, steps=(step,) * count) for count in range(steps)]
    return [(match.block, match.line) for match in matches if match]


def test_the_nearest_match_above_is_found_first_then_older_ones_then_around() -> None:
    viewport = viewport_of(["needle"], ["hay"], ["a needle", "hay", "a needle"])

    assert places(viewport, "needle", 5) == [(2, 2), (2, 0), (0, 0), (2, 2), (2, 0)]


def test_newer_ones_come_in_the_other_direction() -> None:
    viewport = viewport_of(["needle"], ["hay"], ["a needle", "hay", "a needle"])

    assert places(viewport, "needle", 4, step=1) == [(2, 2), (0, 0), (2, 0), (2, 2)]


def test_it_begins_where_one_reads() -> None:
    viewport = viewport_of(["x", "x", "x"], ["x"])

    assert found(viewport, "x", start=Position(0, 1)) == SearchMatch(0, 1, 0, 1, 1)


def test_what_is_below_in_the_same_block_comes_last() -> None:
    viewport = viewport_of(["hay", "needle"], ["hay"])

    assert found(viewport, "needle", start=Position(0, 0)) == SearchMatch(0, 1, 0, 1, 6)


def test_case_counts_only_with_capital_letters() -> None:
    viewport = viewport_of(["Needle"], ["needle"])

    assert places(viewport, "needle", 2) == [(1, 0), (0, 0)]
    assert places(viewport, "Needle", 2) == [(0, 0), (0, 0)]


def test_text_that_was_wrapped_is_found() -> None:
    viewport = viewport_of(["  a long needle   ", "  in the hay"])

    assert found(viewport, "needle in") == SearchMatch(0, 0, 9, 1, 4)


def test_columns_are_cells_and_styles_are_no_text() -> None:
    viewport = viewport_of(["漢字\x1b[1mnee\x1b[0mdle"])

    match = found(viewport, "needle")

    assert match == SearchMatch(0, 0, 4, 0, 10)
    assert match.columns(Position(0, 0)) == (4, 10)
    assert match.columns(Position(0, 1)) is None


def test_signs_are_searched_as_they_are() -> None:
    assert found(viewport_of(["a.b", "a[.*"]), "[.*") == SearchMatch(0, 1, 1, 1, 4)


def test_what_is_not_there_is_not_found() -> None:
    assert found(viewport_of(["hay"], []), "needle", steps=(1, -1)) is None
    assert found(viewport_of(), "needle", start=Position(0, 0)) is None


def test_matches_follow_a_block_that_changes() -> None:
    document = Document(Dock("> "))
    block = LinesBlock(["needle"])
    document.blocks.append(block)
    search = TranscriptSearch(Viewport(document), "needle", Position(0, 0))
    assert len(search.matches(0)) == 1

    block.change(["needle needle"])

    assert len(search.matches(0)) == 2


def test_a_line_is_told_its_own_matches_those_of_several_lines_too() -> None:
    search = TranscriptSearch(viewport_of(["a a", "b", "a b", "b", "a"]), "a b", Position(0, 0))

    lines = [search.matches_on(Position(0, line)) for line in range(5)]

    first, second = SearchMatch(0, 0, 2, 1, 1), SearchMatch(0, 2, 0, 2, 3)
    assert lines == [[first], [first], [second], [], []]


def test_the_document_may_go_while_it_is_searched() -> None:
    document = Document(Dock("> "))
    document.blocks.append(LinesBlock(["needle"]))
    search = TranscriptSearch(Viewport(document), "needle", Position(0, 0))

    document.replace([])

    assert not search.work()
    assert search.match is None
