"""Whose doing a change is taken for."""

from kaa.workspace.checkpoints.attribution import ChangeRow, TurnRecord
from kaa.workspace.checkpoints.contract import StateRow

DIRECTORY: StateRow = ("directory", "", 0o755, 0, "1")


def test_a_root_that_was_not_known_before_neither_came_nor_went() -> None:
    record = TurnRecord()
    record.begin("call", None)

    record.add([(".", None, DIRECTORY), ("/added/.", DIRECTORY, None), ("new", None, DIRECTORY)])

    assert [change.path for change in record.take()] == ["new"]


def state(text: str) -> StateRow:
    return ("file", text.encode().hex(), 0o644, 1, "")


def row(path: str, before: str, after: str) -> ChangeRow:
    return (path, state(before) if before else None, state(after) if after else None)


def told(record: TurnRecord) -> list[tuple[str, str, str, str]]:
    """Path, contents before and after, and by what."""

    def text(digest: str) -> str:
        return bytes.fromhex(digest).decode()

    return [
        (
            change.path,
            text(change.before.digest) if change.before else "",
            text(change.after.digest) if change.after else "",
            change.by,
        )
        for change in record.take()
    ]


def test_rows_of_one_path_are_one_change() -> None:
    record = TurnRecord()
    record.begin("call", None)

    record.add([row("a", "", "1"), row("a", "1", "2"), row("b", "1", ""), row("b", "", "1")])

    assert told(record) == [("a", "", "2", "command")]
    assert told(record) == []


def test_what_changes_while_nothing_runs_is_nobodys() -> None:
    record = TurnRecord()
    record.begin("call", None)
    assert record.end("call")
    record.add([row("a", "1", "2")])
    record.close()

    record.add([row("b", "1", "2")])

    assert told(record) == [("a", "1", "2", "command")]


def test_a_call_that_can_change_one_file_changed_that_and_what_it_is_in() -> None:
    record = TurnRecord()
    record.begin("call", "d/a")

    record.add([row("d", "", "x"), row("d/a", "", "1"), row("d/b", "1", "2"), row("a", "1", "2")])

    assert told(record) == [("d", "", "x", "call"), ("d/a", "", "1", "call")]


def test_a_command_beside_it_may_have_changed_everything_else() -> None:
    record = TurnRecord()
    record.begin("one", "a")
    record.begin("other", None)
    assert not record.end("one")

    record.add([row("a", "1", "2"), row("b", "1", "2")])

    assert told(record) == [("a", "1", "2", "call"), ("b", "1", "2", "command")]


def test_what_changes_while_only_a_background_process_runs_is_uncertain() -> None:
    record = TurnRecord()
    record.begin("call", None)
    record.end("call")
    record.add([row("a", "1", "2"), row("b", "1", "2")])
    record.close()
    record.in_background = True

    record.add([row("a", "2", "3"), row("c", "1", "2")])

    assert told(record) == [
        ("a", "1", "2", "command"),
        ("a", "2", "3", "background"),
        ("b", "1", "2", "command"),
        ("c", "1", "2", "background"),
    ]


def test_what_a_command_reverted_that_changed_beside_a_background_process_is_both_kept() -> None:
    record = TurnRecord()
    record.in_background = True
    record.add([row("a", "1", "mine"), row("b", "1", "2"), row("b", "2", "1")])
    record.begin("call", None)

    record.add([row("a", "mine", "1"), row("c", "1", "2"), row("c", "2", "1")])

    assert told(record) == [("a", "1", "mine", "background"), ("a", "mine", "1", "command")]


def test_a_path_that_somebody_else_changed_in_between_has_two_changes() -> None:
    record = TurnRecord()
    record.begin("one", None)
    record.add([row("a", "1", "2"), row("b", "1", "2")])
    record.close()
    record.add([row("a", "2", "mine"), row("b", "2", "mine"), row("b", "mine", "2")])
    record.begin("two", None)

    record.add([row("a", "mine", "3"), row("b", "2", "3")])

    assert told(record) == [
        ("a", "1", "2", "command"),
        ("a", "mine", "3", "command"),
        ("b", "1", "3", "command"),
    ]
