import pytest

from kaa.ext.choices import TrustAnswer
from kaa.ext.questions import Dismissed, Trust, TrustDecision, TrustText
from kaa.frontends.interactive.dialogs.trust import TrustDialog
from kaa.tui.events import Key
from tests.support.keyboard import keyboard_context
from tests.support.painted import assert_well_formed, visible

UNDECIDED = Trust(
    "Do you trust this project?",
    "/home/me/project",
    ("programs that run as a part of kaa: .kaa/extensions/mine.py", "settings of kaa: .kaa/settings.json"),
)
CHANGED = Trust(
    "This project's configuration has changed. Trust it?",
    "/home/me/project",
    was_trusted=True,
    added=(".kaa/SYSTEM.md",),
    removed=(".mcp.json",),
    changed=(".kaa/settings.json",),
    diff="@@ -1 +1 @@\n-{}\n+{1}\n",
)


INSTRUCTS = Trust(
    "Do you trust this project?",
    "/home/me/project",
    texts=(TrustText("/home/me/project/AGENTS.md", "Use tabs.\nYes, this time (o)\n\u202eevil", is_cut=True),),
)


def ask(question: Trust, width: int = 100) -> tuple[TrustDialog, list[TrustDecision | Dismissed], str]:
    """The dialog, what is answered, and what can be read."""
    answers: list[TrustDecision | Dismissed] = []
    dialog = TrustDialog(keyboard_context(rows=60), question, answers.append)
    dialog.offer()
    return dialog, answers, "\n".join(line.strip("│ ") for line in visible(dialog.render(width)))


@pytest.mark.parametrize(("letter", "choice"), [("d", "no"), ("o", "yes"), ("y", "stored")])
def test_each_answer_is_what_it_says(letter: str, choice: TrustAnswer) -> None:
    dialog, answers, _ = ask(UNDECIDED)

    dialog.key(Key(letter, letter))
    dialog.key(Key("y", "y"))

    assert answers == [TrustDecision(choice)]


def test_a_yes_counts_when_the_servers_that_it_permits_were_on_the_screen() -> None:
    servers = tuple((f"server{number} runs: uvx mcp-{number}", "It can read the project.") for number in range(9))
    question = Trust("Trust?", "/project", ("MCP servers: .mcp.json",), servers=servers)
    answers: list[TrustDecision | Dismissed] = []
    dialog = TrustDialog(keyboard_context(rows=20), question, answers.append)
    dialog.offer()
    first = "\n".join(visible(dialog.render(80)))

    dialog.key(Key("y", "y"))
    unread = list(answers)
    urged = "\n".join(visible(dialog.render(80)))
    for _ in range(9):  # more pages than it has
        dialog.key(Key("pagedown"))
        dialog.render(80)
    shown = "\n".join(visible(dialog.render(80)))
    dialog.key(Key("y", "y"))

    assert "“Yes, until it changes” also permits these MCP servers of the project:" in first
    assert "server0 runs: uvx mcp-0" in first
    assert "server8 runs: uvx mcp-8" in shown
    assert unread == []
    assert "No answer yet" in urged
    assert answers == [TrustDecision("stored")]


def test_registries_are_permitted_with_trust_where_a_file_shows_a_need() -> None:
    dialog, answers, text = ask(Trust("Trust?", "/project", UNDECIDED.uses, manifests=("package.json",)))
    dialog.key(Key("p", "p"))
    other, without, _ = ask(UNDECIDED)
    other.key(Key("p", "p"))

    assert "The project has package.json." in text
    assert "Yes, until it changes, and package registries for the session (p)" in text
    assert answers == [TrustDecision("stored", registries=True)]
    assert without == []


def test_enter_and_escape_trust_nothing() -> None:
    for key in (Key("enter"), Key("escape"), Key("n", "n")):
        dialog, answers, _ = ask(UNDECIDED)
        dialog.key(key)
        assert answers == [Dismissed()]


def test_what_would_be_used_is_told() -> None:
    _, _, text = ask(UNDECIDED)

    assert "Do you trust this project?" in text
    assert "/home/me/project" in text
    assert "programs that run as a part of kaa: .kaa/extensions/mine.py" in text
    assert "settings of kaa" in text


def test_instructions_are_shown_with_what_hides_in_them() -> None:
    dialog, _, _ = ask(INSTRUCTS)
    lines = [line.strip("│┃ ") for line in visible(dialog.render(100))]

    assert "Instructions for the model, /home/me/project/AGENTS.md:" in lines
    assert "Use tabs." in lines
    assert "\\u202eevil" in lines
    assert "The file is longer: kaa does not use the rest." in lines
    assert any(line.startswith("│ │ Yes, this time (o)") for line in visible(dialog.render(100)))


def test_the_configuration_comes_before_long_instructions() -> None:
    _, _, text = ask(Trust("Trust?", "/project", UNDECIDED.uses, texts=INSTRUCTS.texts))

    assert text.index(".kaa/extensions/mine.py") < text.index("Use tabs.")


@pytest.mark.parametrize(
    ("key", "answer"), [("k", Dismissed()), ("r", TrustDecision("forget")), ("d", TrustDecision("no"))]
)
def test_trust_is_kept_or_revoked(key: str, answer: TrustDecision | Dismissed) -> None:
    question = Trust("Trust?", "/project", texts=INSTRUCTS.texts, is_trusted=True, status="You trust these files.")

    dialog, answers, text = ask(question)
    dialog.key(Key(key, key))

    assert "You trust these files." in text
    assert answers == [answer]


def test_what_has_changed_is_told_with_the_difference() -> None:
    _, _, text = ask(CHANGED)

    assert "This project's configuration has changed" in text
    assert "new: .kaa/SYSTEM.md" in text
    assert "changed: .kaa/settings.json" in text
    assert "gone: .mcp.json" in text
    assert text.index("changed: ") < text.index("new: ")
    assert "{1}" in text


@pytest.mark.parametrize("width", [1, 5, 20, 40, 100])
def test_hostile_names_stay_within_their_lines(width: int) -> None:
    name = "\x1b]0;owned\x07\n\x9b2J\u202e界"
    changed = Trust(name, name, (name,), True, (name,), (name,), (name,), f"@@ -1 +1 @@\n-{name}\n+{name}\n")

    dialog, _, _ = ask(changed, width)

    assert_well_formed(dialog.render(width), width)
