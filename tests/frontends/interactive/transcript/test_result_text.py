from kaa.frontends.interactive.transcript.tools.renderer import take_apart
from tests.support.tables import each


@each(
    ("text", "output", "notes", "blocked"),
    [
        ("a\n\nb", "a\n\nb", [], []),
        ("(no output)", "", [], []),
        ("exit code 0, no output", "", [], []),
        ("", "", [], []),
        ("a\n\nCommand exited with code 1", "a", ["Command exited with code 1"], []),
        ("a\n\n[Lines 1-2 of 9. x]\n\nCommand aborted", "a", ["Lines 1-2 of 9. x", "Command aborted"], []),
        ("a\n\n[The first 8 lines; lines 18-30 of 30. x]", "a", ["The first 8 lines; lines 18-30 of 30. x"], []),
        ("a\n\n[sandbox] No.\n[sandbox] Nor that.", "a", [], ["No.", "Nor that."]),
        ("[sandbox] No.", "", [], ["No."]),
        ("a\n\n[sandbox] No.\nUse write for it.", "a", [], ["No.", "Use write for it."]),
        ("a\n\nIt finished. The user stopped the run.", "a", ["It finished. The user stopped the run."], []),
        ("a\n\n[sandbox] No.\nb\nc", "a\n\n[sandbox] No.\nb\nc", [], []),
        ("[The file is empty.]", "", ["The file is empty."], []),
        ("a\n\n[section]", "a\n\n[section]", [], []),
        ("a\n\n[Process 3: exited with 0] serve", "a", ["[Process 3: exited with 0] serve"], []),
        ("a\nCommand exited with code 1", "a\nCommand exited with code 1", [], []),
    ],
)
def test_remarks_at_the_end_are_told_from_output(text: str, output: str, notes: list[str], blocked: list[str]) -> None:
    assert take_apart(text) == (output, notes, blocked)
