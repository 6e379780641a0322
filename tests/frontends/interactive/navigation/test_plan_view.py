"""What restoring files would do, as it is read."""

import pytest

from kaa.frontends.interactive.navigation.steps import PlanView
from kaa.workspace.checkpoints.plans import FileConflict, FileStep, RestorePlan
from tests.support.painted import assert_well_formed, make_context, visible

_PLAN = RestorePlan(
    (FileStep("src/long/path/of/a.py", "restore", 12, 3), FileStep("new.txt", "delete", 0, 4)),
    (FileConflict("b.py", "changed since by someone else"),),
    ("what is in .git",),
)


def test_what_stays_comes_before_the_files_of_which_there_may_be_many() -> None:
    lines = visible(PlanView(make_context(), _PLAN, "These would be:").lines(60))

    assert lines == [
        "Not restored:",
        " • b.py: changed since by someone else",
        "These would be:",
        " restored   src/long/path/of/a.py +12 -3",
        " deleted    new.txt -4",
        "Not covered: what is in .git",
    ]


@pytest.mark.parametrize("width", [1, 10, 24, 200])
def test_it_fits_and_counts_stay_where_paths_are_cut(width: int) -> None:
    lines = PlanView(make_context(), _PLAN, "These would be:").lines(width)

    assert_well_formed(lines, width)
    if width >= 24:
        assert any(line.endswith("+12 -3") for line in visible(lines))


def test_names_of_files_do_not_act_on_the_terminal() -> None:
    plan = RestorePlan((FileStep("a\x1b[2Jb\nc", "create", 1, 0),), (FileConflict("x\x07", "\x1b]0;owned\x07"),), ())

    assert_well_formed(PlanView(make_context(), plan, "").lines(80), 80)


def test_files_that_somebody_else_may_have_changed_are_marked_and_explained() -> None:
    plan = RestorePlan((FileStep("a", "restore", by="background"), FileStep("b", "restore", by="command")))

    assert visible(PlanView(make_context(), plan, "These would be:").lines(200)) == [
        "These would be:",
        "?restored   a",
        "~restored   b",
        "? changed while only a background process of kaa's ran: maybe you or another program changed it",
        "~ changed while a command ran: what you or another program wrote there meanwhile goes too. To get it back:"
        " /redo, or /tree and the entry after that command",
    ]
    redone = " ".join(visible(PlanView(make_context(), plan, "These would be:", is_redo=True).lines(200)))
    assert "To get it back: /tree and the entry after that command" in redone


def test_many_files_are_counted() -> None:
    steps = tuple(FileStep(f"s{number}", "create" if number % 2 else "delete", by="call") for number in range(30_000))
    lost = tuple(FileConflict(f"f{number}", "not read") for number in range(30_000))

    lines = visible(PlanView(make_context(), RestorePlan(steps, lost), "kaa would change these files:").lines(200))

    assert lines[:3] == [
        "Not restored:",
        " • f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 29,990 more files: not read",
        "kaa would change these files:",
    ]
    assert lines[-1] == " and 29,800 more files: 14,900 recreated, 14,900 deleted"
    assert len(lines) == 204
