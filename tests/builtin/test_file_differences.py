from kaa.builtin.file_differences import ShownDifference, shown, table
from kaa.workspace.checkpoints.plans import FileDifference
from tests.support.tables import each


@each(
    ("difference", "summary"),
    [
        (FileDifference("a", b"one\ntwo\n", b"one\n2\n3\n", (0o644, 0o644)), "changed +2 -1"),
        (FileDifference("a", None, b"one\n", (None, 0o644)), "created +1 -0"),
        (FileDifference("a", b"one\n", None, (0o644, None)), "deleted +0 -1"),
        (FileDifference("a", b"", None, (0o644, None)), "deleted +0 -0"),
        (FileDifference("a", b"x", b"x", (0o644, 0o755)), "changed mode 644 to 755"),
        (FileDifference("a", b"x\0", b"y", (0o644, 0o644)), "changed, binary"),
    ],
)
def test_a_change_is_summed_up_in_few_words(difference: FileDifference, summary: str) -> None:
    assert shown(difference).summary == summary


def test_a_change_is_shown_as_a_unified_diff() -> None:
    assert shown(FileDifference("a", b"one\n", b"two\n", (0o644, 0o644))).diff == "@@ -1 +1 @@\n-one\n+two"


def test_what_may_be_somebody_elses_is_said() -> None:
    difference = FileDifference("a", b"1", b"2", (0o644, 0o644), "background", "changed since by someone else")

    assert table([shown(difference)]) == [
        "a  changed +1 -1  (changed since by someone else; while only a background process ran, maybe by someone else)",
        "1 file",
    ]


def test_long_files_are_not_compared_and_long_changes_are_cut() -> None:
    before, after = (b"\n".join(b"%s%d" % (sign, number) for number in range(4_000)) for sign in (b"a", b"b"))

    found = shown(FileDifference("a", before, after, (0o644, 0o644)))

    assert found.summary == "changed +4000 -4000"
    assert found.remark == "only the first 5,000 lines are shown"
    assert found.diff.count("\n") == 4_999


def test_a_long_file_is_compared_where_it_changed() -> None:
    lines = [b"%d" % number for number in range(1, 100_001)]
    before = b"\n".join(lines)
    lines[49_999:50_001] = [b"x", b"y", b"z"]

    found = shown(FileDifference("a", before, b"\n".join(lines), (0o644, 0o644)))

    assert found.summary == "changed +3 -2"
    assert found.diff.split("\n") == [
        "@@ -49997,8 +49997,9 @@",
        *(" 49997", " 49998", " 49999", "-50000", "-50001", "+x", "+y", "+z", " 50002", " 50003", " 50004"),
    ]


def test_a_name_with_a_line_break_stays_in_its_line() -> None:
    assert shown(FileDifference("a\nb", None, b"", (None, 0o644))) == ShownDifference("a b", "created +0 -0")
