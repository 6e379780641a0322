from benchmarks.change.figures import Comparison, Figure, Pair
from benchmarks.change.report import summary, table

LIMIT = 1.1


def comparison(name: str, *pairs: tuple[float, float], **missing: str) -> Comparison:
    made = Comparison(Figure(name, "ms", margin=0.1), LIMIT, rounds=5)
    made.pairs += [Pair(*pair) for pair in pairs]
    made.missing |= missing
    return made


HELD = comparison("reading", *[(2, 2.1)] * 5)
GREW = comparison("editing", *[(2, 4)] * 7)
NOISY = comparison("waiting", *[(2, 4), (2, 4), (3, 2)] * 5)
MISSING = comparison("searching", base="exited with 2: no such option\nkaa --help")


def test_the_table_has_a_line_for_each_figure() -> None:
    assert table([HELD, GREW, NOISY, MISSING]).splitlines() == [
        "                base  now  ratio  pairs",
        "reading (ms)       2  2.1   1.05      5",
        "editing (ms)       2    4   2.00      7  grew",
        "waiting (ms)       2    4   2.00     15  noisy",
        "searching (ms)                           missing: base: exited with 2: no such option",
    ]


def test_the_summary_says_what_grew() -> None:
    assert summary([HELD, GREW], LIMIT) == "Grew by more than the limit of 1.1: editing 2.00."


def test_the_summary_says_that_nothing_grew() -> None:
    assert summary([HELD, MISSING], LIMIT) == "Nothing exceeds the limit of 1.1."


def test_the_summary_names_what_is_to_be_measured_again() -> None:
    assert "waiting 2.00" in summary([NOISY], LIMIT).splitlines()[-1]


def test_the_summary_names_what_the_change_does_not_give() -> None:
    assert "no figures for: asking." in summary([comparison("asking", now="it crashed")], LIMIT)
