"""What is said of files after they went along."""

from kaa.frontends.interactive.navigation.result import NavigationResult, restored_files
from kaa.workspace.checkpoints.plans import FileConflict, FileStep, RestoreResult


def arrived(files: RestoreResult | None, problem: str | None = None) -> NavigationResult:
    """An arrival of which only the files matter."""
    return NavigationResult("both", None, files, problem, entries=None)  # type: ignore[arg-type]  # entries are not looked at


def test_what_was_done_is_one_notice_and_what_was_not_others() -> None:
    done = (FileStep("a", "restore"), FileStep("b", "create"), FileStep("c", "delete"), FileStep("d", "restore"))
    result = RestoreResult(done, (FileConflict("e", "it was changed"),), (FileConflict("f", "no space"),))

    assert list(restored_files(arrived(result))) == [
        ("Restored: a, d\nRecreated: b\nDeleted: c", "info"),
        ("Not restored:\ne: it was changed", "warning"),
        (
            "Failed:\nf: no space\nThe conversation did not move. Repeat the command when the cause is fixed, or "
            "select “The conversation only” there to continue without these files.",
            "error",
        ),
    ]


def test_a_file_that_came_back_without_a_part_of_its_mode_is_named() -> None:
    result = RestoreResult((FileStep("a", "create"),), reduced=(FileConflict("a", "restored without its sticky bit"),))

    assert list(restored_files(arrived(result))) == [
        ("Recreated: a", "info"),
        ("Restored in part:\na: restored without its sticky bit", "warning"),
    ]


def test_of_many_files_the_first_are_named() -> None:
    result = RestoreResult(tuple(FileStep(f"f{number}", "delete") for number in range(40)))

    ((text, _),) = restored_files(arrived(result))

    assert text == "Deleted: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 30 more files"


def test_files_that_were_left_alone_are_not_spoken_of() -> None:
    assert list(restored_files(arrived(None))) == []
    assert list(restored_files(arrived(None, "there is no store"))) == [
        ("Files are unchanged: there is no store", "info")
    ]


def test_turns_without_a_checkpoint_are_named_at_the_end() -> None:
    there = arrived(RestoreResult())._replace(gaps=("2 turns have no checkpoint: disk full",))

    assert list(restored_files(there)) == [("Not restored:\n2 turns have no checkpoint: disk full", "warning")]


def test_of_many_files_that_were_kept_the_first_are_named_and_each_reason_once() -> None:
    kept = [FileConflict(f"f{number}", "not read") for number in range(30_000)]
    result = RestoreResult(kept=(*kept, FileConflict("g", "changed")))

    ((text, _),) = restored_files(arrived(result))

    assert text.splitlines() == [
        "Not restored:",
        "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 29,990 more files: not read",
        "g: changed",
    ]


def test_what_stays_is_said_where_no_file_was_changed() -> None:
    there = arrived(None)._replace(remark="the commits stay")

    assert list(restored_files(there)) == [("The commits stay.", "info")]
