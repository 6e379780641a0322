"""Dialogs for choices and texts that commands, tools and extensions ask for."""

import pytest

from kaa.ext.questions import Choice, Chosen, Confirmation, Confirmed, Dismissed, Editing, Entered, TextInput
from kaa.frontends.interactive.dialogs.simple_questions import ChoiceDialog, ConfirmationDialog, TextDialog
from tests.support.keyboard import keyboard_context, press, type_text
from tests.support.painted import visible


def test_an_option_is_chosen_with_arrows_and_enter() -> None:
    answers: list[Chosen | Dismissed] = []
    dialog = ChoiceDialog(keyboard_context(), Choice("Which?", ("one", "two"), "It matters."), answers.append)
    dialog.offer()
    text = "\n".join(visible(dialog.render(60)))

    press(dialog, "down")
    press(dialog, "enter")
    press(dialog, "enter")

    assert "Which?" in text
    assert "It matters." in text
    assert "two" in text
    assert answers == [Chosen("two")]


@pytest.mark.parametrize(("count", "requested", "searches"), [(3, False, False), (8, False, True), (3, True, True)])
def test_a_question_with_few_options_is_not_searched(count: int, requested: bool, searches: bool) -> None:
    options = tuple(f"option {number}" for number in range(count))
    dialog = ChoiceDialog(keyboard_context(), Choice("Which?", options, requested=requested), lambda _: None)
    dialog.offer()

    assert ("Search:" in "\n".join(visible(dialog.render(60)))) is searches


def test_escape_dismisses_a_choice() -> None:
    answers: list[Chosen | Dismissed] = []
    dialog = ChoiceDialog(keyboard_context(), Choice("Which?", ("one", "two")), answers.append)
    dialog.offer()

    press(dialog, "escape")

    assert answers == [Dismissed()]


def test_a_line_is_entered() -> None:
    answers: list[Entered | Dismissed] = []
    dialog = TextDialog(keyboard_context(), TextInput("Name?", "of the branch"), answers.append)
    dialog.offer()
    text = "\n".join(visible(dialog.render(60)))

    type_text(dialog, "fix-it")
    press(dialog, "enter")

    assert "of the branch" in text
    assert answers == [Entered("fix-it")]


def test_a_text_is_edited() -> None:
    answers: list[Entered | Dismissed] = []
    dialog = TextDialog(keyboard_context(), Editing("Message?", "one\ntwo"), answers.append)
    dialog.offer()

    type_text(dialog, "!")
    press(dialog, "enter")

    assert answers == [Entered("one\ntwo!")]


def test_escape_dismisses_a_text() -> None:
    for question in (TextInput("Name?"), Editing("Message?")):
        answers: list[Entered | Dismissed] = []
        dialog = TextDialog(keyboard_context(), question, answers.append)
        dialog.offer()
        press(dialog, "escape")
        assert answers == [Dismissed()]


def test_what_only_a_person_may_permit_is_permitted_when_all_of_it_was_on_the_screen() -> None:
    answers: list[Confirmed | Dismissed] = []
    details = "\n".join(f"changed: /project/{number}.py" for number in range(200))
    dialog = ConfirmationDialog(
        keyboard_context(), Confirmation("Start it?", details, only_person=True), answers.append
    )
    dialog.offer()
    first = "\n".join(visible(dialog.render(60)))

    type_text(dialog, "y")

    assert answers == []
    assert "Scroll to the end to allow" in first
    assert "No answer yet, read to the end" in "\n".join(visible(dialog.render(60)))
    while not dialog.is_read:
        press(dialog, "pagedown")
        dialog.render(60)
    type_text(dialog, "y")
    assert answers == [Confirmed(yes=True)]


def test_a_diff_is_read_as_a_whole_by_turning_its_pages() -> None:
    lines = "\n".join(f"+line {number}" for number in range(100))
    diff = f"--- a/file\n+++ b/file\n@@ -0,0 +1,100 @@\n{lines}"
    dialog = ChoiceDialog(
        keyboard_context(), Choice("Merge it?", ("Back", "Merge"), "1 file changed", diff=diff), lambda _: None
    )
    dialog.offer()
    shown = visible(dialog.render(60))

    while "line 99" not in "\n".join(shown):
        press(dialog, "pagedown")
        shown += visible(dialog.render(60))

    assert any("1 file changed" in line for line in shown)
    assert all(any(f"{number + 1} line {number}" in line for line in shown) for number in range(100))


def test_an_empty_line_of_the_details_has_no_bullet() -> None:
    bullet = keyboard_context().glyphs.bullet
    dialog = ConfirmationDialog(keyboard_context(), Confirmation("Go on?", "one\n\ntwo"), lambda _: None)

    assert "".join(visible(dialog.render(60))).count(bullet) == 2


def test_another_question_is_answered_before_it_was_read() -> None:
    answers: list[Confirmed | Dismissed] = []
    dialog = ConfirmationDialog(keyboard_context(), Confirmation("Go on?", "line\n" * 200), answers.append)
    dialog.offer()
    dialog.render(60)

    type_text(dialog, "y")

    assert answers == [Confirmed(yes=True)]
