"""Plans as Markdown."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.plan.document import FORM, MOST_STEPS, Plan, PlanError, begins_like_plan, find, parse
from tests.support.tables import each

_LINES = st.sampled_from(
    [
        "# Plan: a goal",
        "# Goal",
        "## 1. First",
        "## Step 2: Second",
        "- Files: `a.py`, b/*.py",
        "Check: make test",
        "- **Check:** `make test` passes",
        "- Check:",
        "```sh",
        "```",
        "~~~~",
        "# no heading",
        "- Status: done",
        "- status: In Progress",
        "Expect: nothing",
        "text",
        "",
    ]
)


def test_the_form_that_models_get_is_a_plan() -> None:
    plan = parse(FORM)

    assert plan.goal == "the goal in one line"
    (step,) = plan.steps
    assert (step.title, step.files) == ("What the step does", ("src/app.py", "tests/test_app.py"))
    assert step.checks == ("pytest tests/test_app.py",)
    assert plan.text == f"{FORM}\n"


@given(st.lists(_LINES, max_size=30))
def test_whatever_can_be_read_stays_the_same_when_it_is_written(lines: list[str]) -> None:
    text = "\n".join(["# G", *lines, "## Last", "done"])
    try:
        plan = parse(text)
    except PlanError:
        return
    again = parse(plan.text)

    assert again == parse(again.text)
    assert [(step.title, step.state, step.checks, step.files) for step in again.steps] == [
        (step.title, step.state, step.checks, step.files) for step in plan.steps
    ]


@given(st.text(max_size=300))
def test_any_text_is_a_plan_or_an_error(text: str) -> None:
    with contextlib.suppress(PlanError):
        assert isinstance(parse(text), Plan)


def test_states_are_marked_and_read_again() -> None:
    plan = parse(f"{FORM}\n\n## 2. Another\n\n- Check: true\n").at(0, "done").at(1, "failed")

    assert plan.next == 1
    assert parse(plan.text) == plan
    assert parse(plan.at(1, "done").text).next is None


@each(
    ("line", "checks"),
    [
        ("- Check: `a | b` shows `c`", ("a | b",)),
        ("- **Check**: make", ("make",)),
        ("-Check : make", ("make",)),
        ("- Check: `a` and `b`, then `c` succeed", ("a", "b", "c")),
        ("- Check: none", ()),
        ("* Checks: make test", ("make test",)),
        ("- Check: a\n- Check: b", ("a", "b")),
        ("- Check:\n\n```sh\ncd a\nmake\n```\nand text", ("cd a\nmake",)),
    ],
)
def test_checks(line: str, checks: tuple[str, ...]) -> None:
    assert parse(f"# G\n\n## S\n\n{line}").steps[0].checks == checks


@pytest.mark.parametrize("value", ["``", "**", "`make test", "`a` and `b", "\n\nmake test", "`" * 50_000 + "a"])
def test_a_broken_check_is_an_error_and_not_none(value: str) -> None:
    with pytest.raises(PlanError, match=r"Step 1: its `Check:`"):
        parse(f"# G\n\n## S\n\n- Check: {value}\n")


@pytest.mark.parametrize("line", ["- Check `a.py` for mistakes", "Check the result.", "- Check that `make` works"])
def test_a_sentence_that_begins_with_check_is_none(line: str) -> None:
    assert parse(f"# G\n\n## S\n\n{line}").steps[0].checks == ()


def test_headings_in_code_are_none() -> None:
    plan = parse(
        "# G\n\n```md\n## 1. Not this\n```\n\n## 1. This\n\n```\n# comment\n## 2. nor this\n- Status: done\n```\n"
    )

    assert [(step.title, step.state) for step in plan.steps] == [("This", "pending")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I found it.\n\n# Plan: G\n\n## 1. S\nx", "# Plan: G\n\n## 1. S\nx"),
        ("```markdown\n# G\n## S\n```", "# G\n## S"),
        ("# Heading\n\nNo step.", ""),
        ("## Only\n", ""),
        ("", ""),
    ],
)
def test_a_plan_is_found_in_a_reply(text: str, found: str) -> None:
    assert find(text) == found


@each(
    ("text", "begins"),
    [
        ("# Plan: fix\n\n1. Do a\n2. Do b", True),
        ("I have looked.\n\n## Implementation plan\n\n1. Do a", True),
        ("# **Plan** \u2014 fix\n\n### 1. Do a", True),
        ("## 1. Do a\n\n- Check: `make test`", True),
        ("### Step 1: Do a\n\n**Check:** `make test`", True),
        ("## 1. Introduction\n\nThe parser reads lines.", False),
        ("# How the planner works\n\n1. It reads.", False),
        ("```\n# Plan: fix\n```\n\nThis is how plans begin.", False),
        ("", False),
    ],
)
def test_a_text_that_is_meant_as_a_plan(text: str, begins: bool) -> None:
    assert find(text) == ""
    assert begins_like_plan(text) == begins


@each(
    ("text", "reason"),
    [
        ("", "It does not begin with its goal"),
        ("# G\n", "It has no step"),
        ("# G\n## S\n```\ncode", "A block of code is not closed"),
        ("# G\n## S\n- Check:\n", "Step 1: its `Check:` has no command"),
        ("# G\n## S\n- Check:\n", "Write `Check: none`"),
        ("# G\n## S\n- Check `true`\n", "Step 1: '- Check `true`' has no colon"),
        ("# G\n## S\n**Checks** - `make test`.\n", "has no colon"),
        ("# G\n## S\n- Status: nearly\n", "Step 1: it has the status 'nearly'"),
        ("# G\n" + "## S\n" * (MOST_STEPS + 1), "at most 50"),
        ("# G\n## S\n" + "x" * 60_000, "at most 60,000"),
    ],
)
def test_what_is_wrong_is_named(text: str, reason: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse(text)

    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("path", "is_covered"), [("a.py", True), ("b/c.py", True), ("d/e/f.py", True), ("a.pyc", False), ("e.py", False)]
)
def test_files_can_be_globs_and_directories(path: str, is_covered: bool) -> None:
    plan = parse("# G\n## S\n- Files: ./a.py, `b/*.py`, d/\n")

    assert plan.covers(path) is is_covered


def test_a_second_line_of_files_counts() -> None:
    assert parse("# G\n## S\n- Files: a.py\n- File: b c.py (new), none\n").steps[0].files == ("a.py", "b c.py", "new")
