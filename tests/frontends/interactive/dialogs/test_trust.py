import pytest

from kaa.frontends.interactive.dialogs.trust import TrustDialog
from kaa.shell.options import TrustChoice
from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration
from kaa.shell.trust.difference import Difference
from kaa.shell.trust.store import Changed, TrustState, Undecided
from kaa.tui.events import Key
from tests.support.keyboard import keyboard_context, press
from tests.support.painted import assert_well_formed, visible

CONFIGURATION = ProjectConfiguration(
    "/home/me/project",
    (
        ConfigurationFile(".kaa/extensions/mine.py", "file", b"print()"),
        ConfigurationFile(".kaa/settings.json", "file", b"{}"),
    ),
)
CHANGED = Changed(
    Difference(
        added=(".kaa/SYSTEM.md",),
        removed=(".mcp.json",),
        changed=(".kaa/settings.json",),
        diff="@@ -1 +1 @@\n-{}\n+{1}\n",
    )
)


def ask(state: TrustState, width: int = 100) -> tuple[TrustDialog, list[TrustChoice | None], str]:
    """The dialog, what is answered, and what can be read."""
    answers: list[TrustChoice | None] = []
    dialog = TrustDialog(keyboard_context(rows=60), CONFIGURATION, state, answers.append)
    dialog.offer()
    return dialog, answers, "\n".join(line.strip("│ ") for line in visible(dialog.render(width)))


@pytest.mark.parametrize(("letter", "choice"), [("n", None), ("d", "no"), ("o", "yes"), ("y", "stored")])
def test_each_answer_is_what_it_says(letter: str, choice: TrustChoice | None) -> None:
    dialog, answers, _ = ask(Undecided())

    dialog.key(Key(letter, letter))
    dialog.key(Key("y", "y"))

    assert answers == [choice]


def test_enter_and_escape_trust_nothing() -> None:
    for key in ("enter", "escape"):
        dialog, answers, _ = ask(Undecided())
        press(dialog, key)
        assert answers == [None]


def test_what_would_be_used_is_told() -> None:
    _, _, text = ask(Undecided())

    assert "Do you trust this project?" in text
    assert "/home/me/project" in text
    assert "programs that run as a part of kaa, with your rights" in text
    assert "settings of kaa" in text


def test_what_has_changed_is_told_with_the_difference() -> None:
    _, _, text = ask(CHANGED)

    assert "This project's configuration has changed" in text
    assert "new: .kaa/SYSTEM.md" in text
    assert "changed: .kaa/settings.json" in text
    assert "gone: .mcp.json" in text
    assert "{1}" in text


@pytest.mark.parametrize("width", [1, 5, 20, 40, 100])
def test_hostile_names_stay_within_their_lines(width: int) -> None:
    name = "\x1b]0;owned\x07\n\x9b2J\u202e界"
    changed = Changed(Difference((name,), (name,), (name,), f"@@ -1 +1 @@\n-{name}\n+{name}\n"))

    dialog, _, _ = ask(changed, width)

    assert_well_formed(dialog.render(width), width)
