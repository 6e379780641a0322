"""Going elsewhere within a session at the terminal, with its files, and condensing what was said."""

import re

import pytest

from kaa.shell.checkpoints.entries import CHECKPOINT
from tests.end_to_end.seat import Seat, answer, choose, enter, is_idle, pausing
from tests.support.model_server import Answer, Tokens, call, say
from tests.support.program import Program

_WINDOW = 32_000
_TAKEN_BACK = re.compile(r"─\s*\nchange it")  # in the editor
_WRITING = (call("read", path="a.txt"), call("write", path="a.txt", content="new\n"), say("Written."))


def talk(program: Program, *exchanges: tuple[str, str]) -> None:
    """Say something, and wait until it is answered, once for each pair."""
    for message, reply in exchanges:
        enter(program, message)
        program.wait_for(reply)
        program.wait_for(is_idle)


def choose_in_tree(program: Program, text: str) -> None:
    """Open the tree and press Enter on the entry with this text."""
    enter(program, "/tree")
    program.wait_for("Continue from which entry?")
    program.type(text)
    program.wait_for(re.compile(rf"› .*{text}"))
    program.press("enter")


def have_written(program: Program) -> None:
    """Have `_WRITING` done."""
    enter(program, "change it")
    program.wait_for("Yes, this time")
    answer(program, "y")
    program.wait_for("Written.")
    program.wait_for(is_idle)


def test_the_tree_leads_to_another_branch_and_back(seat: Seat) -> None:
    with seat.open(script=[say("One."), say("Two."), say("Other."), say("Again.")]) as program:
        talk(program, ("first", "One."), ("second", "Two."))
        choose_in_tree(program, "One.")
        choose(program, "n")
        program.wait_for("The conversation continues from here.")
        talk(program, ("elsewhere", "Other."))
        assert seat.heard() == [("user", "first"), ("assistant", "One."), ("user", "elsewhere")]
        choose_in_tree(program, "Two.")
        choose(program, "n")
        program.wait_for(lambda screen: screen.text().count("The conversation continues from here.") == 2)
        talk(program, ("back again", "Again."))

    assert [text for _, text in seat.heard()] == ["first", "One.", "second", "Two.", "back again"]


def test_what_is_left_is_summed_up_and_what_is_said_meanwhile_follows(seat: Seat) -> None:
    script = [say("One."), say("Two."), pausing("Tried ", "the second way."), say("Noted.")]
    with seat.open(script=script) as program:
        talk(program, ("first", "One."), ("second", "Two."))
        choose_in_tree(program, "One.")
        choose(program, "s")
        seat.model.wait_until_stalled()
        program.wait_for("Summarizing the branch")
        enter(program, "third")
        program.wait_for("steering: third")
        seat.model.release()
        program.wait_for("Noted.")

    heard = [text for _, text in seat.heard()]
    assert heard[:2] == ["first", "One."]
    assert "Tried the second way." in heard[2]
    assert heard[-1] == "third"
    assert "Two." not in heard


def test_a_summary_that_is_stopped_leaves_all_as_it_was(seat: Seat) -> None:
    script = [say("One."), say("Two."), pausing("Tried ", "the second way."), say("Three.")]
    with seat.open(script=script) as program:
        talk(program, ("first", "One."), ("second", "Two."))
        choose_in_tree(program, "One.")
        choose(program, "s")
        seat.model.wait_until_stalled()
        enter(program, "third")
        program.wait_for("steering: third")
        program.press("escape")
        program.wait_for("stopped: the conversation is where it was")
        program.wait_for(lambda screen: "steering: third" not in screen.text() and "third" in screen.text())
        program.press("enter")
        program.wait_for("Three.")

    assert [text for _, text in seat.heard()] == ["first", "One.", "second", "Two.", "third"]


def test_a_place_gets_a_name_in_the_tree(seat: Seat) -> None:
    with seat.open(script=[say("One.")]) as program:
        talk(program, ("first", "One."))
        enter(program, "/tree")
        program.wait_for("(you are here)")
        program.press("shift+l")
        program.wait_for("Label (empty removes it)")
        program.type("good start")
        program.press("enter")
        program.wait_for("[good start] (you are here) One.")
        program.press("ctrl+l")
        program.wait_for("labelled ones only")
        assert "you: first" not in program.screen.text()
        program.press("escape")
        program.wait_for(is_idle)
        enter(program, "/tree")
        program.wait_for("[good start] (you are here) One.")
        program.press("enter")

        program.wait_for("the conversation continues from there already")


@pytest.mark.parametrize(("key", "content"), [("b", "old\n"), ("c", "new\n")])
def test_going_back_takes_files_along_if_that_is_wanted(seat: Seat, key: str, content: str) -> None:
    (seat.project / "a.txt").write_text("old\n")
    with seat.open(script=[say("Hello."), *_WRITING, say("Yes.")]) as program:
        talk(program, ("hello", "Hello."))
        have_written(program)
        enter(program, "/rewind")
        program.wait_for("Rewind to before which message?")
        program.press("enter")
        program.wait_for(re.compile(r"restored +a\.txt \+1 -1"))
        choose(program, key)
        program.wait_for("continues from before that message")
        program.press("enter")
        program.wait_for("Yes.")

    assert (seat.project / "a.txt").read_text() == content
    assert seat.heard() == [("user", "hello"), ("assistant", "Hello."), ("user", "change it")]


def test_files_can_go_back_alone(seat: Seat) -> None:
    (seat.project / "a.txt").write_text("old\n")
    with seat.open(script=[*_WRITING, say("Yes.")]) as program:
        have_written(program)
        enter(program, "/undo")
        choose(program, "f")
        program.wait_for("Restored: a.txt")
        talk(program, ("still there?", "Yes."))

    assert (seat.project / "a.txt").read_text() == "old\n"
    assert ("user", "change it") in seat.heard()


def test_a_key_takes_back_one_message_after_the_other_and_forward_again(seat: Seat) -> None:
    with seat.open(script=[say("One."), say("Two."), say("Three.")]) as program:
        talk(program, ("first", "One."), ("second", "Two."))
        for number in (1, 2):
            program.press("alt+u")
            taken_back = "The conversation continues from before that message."
            program.wait_for(lambda screen: screen.text().count(taken_back) == number)  # noqa: B023 (called at once)
        program.press("alt+r")
        program.wait_for("The conversation continues from here.")
        talk(program, ("third", "Three."))

    assert [text for _, text in seat.heard()] == ["first", "One.", "third"]


def test_the_last_message_is_taken_back_and_brought_forward_again(seat: Seat) -> None:
    changed = seat.project / "a.txt"
    changed.write_text("old\n")
    with seat.open(script=[*_WRITING, say("Yes.")]) as program:
        have_written(program)
        enter(program, "/undo")
        program.wait_for("/redo reverts an undo")
        choose(program, "b")
        program.wait_for("Restored: a.txt")
        program.wait_for(_TAKEN_BACK)
        assert changed.read_text() == "old\n"
        program.press("ctrl+c")
        enter(program, "/redo")
        choose(program, "b")
        program.wait_for(lambda screen: screen.text().count("Restored: a.txt") == 2)
        assert changed.read_text() == "new\n"
        talk(program, ("is it?", "Yes."))

    assert ("assistant", "Written.") in seat.heard()


def test_only_the_conversation_goes_where_that_was_typed(seat: Seat) -> None:
    changed = seat.project / "a.txt"
    changed.write_text("old\n")
    with seat.open(script=[*_WRITING, say("Yes.")]) as program:
        have_written(program)
        enter(program, "/undo --conversation")
        program.wait_for("continues from before that message")
        program.wait_for(_TAKEN_BACK)
        assert changed.read_text() == "new\n"
        program.press("ctrl+c")
        enter(program, "/redo --conversation")
        program.wait_for("The conversation continues from here.")
        talk(program, ("is it?", "Yes."))

    assert changed.read_text() == "new\n"
    assert ("assistant", "Written.") in seat.heard()


def test_everything_goes_back_where_that_was_typed(seat: Seat) -> None:
    changed = seat.project / "a.txt"
    changed.write_text("old\n")
    with seat.open(script=_WRITING) as program:
        have_written(program)
        enter(program, "/undo --all")
        program.wait_for("Restored: a.txt")
        program.wait_for("continues from before that message")

    assert changed.read_text() == "old\n"


def test_a_number_of_steps_is_refused(seat: Seat) -> None:
    with seat.open(script=[say("One.")]) as program:
        talk(program, ("first", "One."))
        enter(program, "/undo 2")
        program.wait_for("/undo takes no '2'")
        enter(program, "/redo --all")
        program.wait_for("/redo takes no '--all'")


@pytest.mark.parametrize("command", ["/undo", "/undo --all"])
def test_where_files_cannot_be_looked_at_it_is_asked_whether_only_the_conversation_goes(
    seat: Seat, command: str
) -> None:
    changed = seat.project / "a.txt"
    changed.write_text("old\n")
    with seat.open(script=[*_WRITING, say("Yes.")]) as program:
        have_written(program)
        # The checkpoint is taken behind the run: its file is complete when the session names it.
        program.wait_for(lambda _: f'"{CHECKPOINT}"' in seat.session_files[0].read_text())
        for kept in seat.home.glob("checkpoints/*/sets/*"):
            kept.unlink()
        enter(program, command)
        program.wait_for("Files are unchanged")
        program.wait_for("kaa cannot restore files: what files were then is no longer kept")
        assert "(b)" not in program.screen.text()
        program.press("escape")
        program.wait_for(is_idle)
        talk(program, ("still there?", "Yes."))
        assert ("assistant", "Written.") in seat.heard()
        enter(program, "/undo")
        program.wait_for("continues from before that message")  # nothing was done to files for this message
        program.press("ctrl+c")
        enter(program, command)
        choose(program, "c")
        program.wait_for("Files are unchanged: what files were then")

    assert changed.read_text() == "new\n"


def test_a_command_is_typed_in_place_of_the_message_that_was_taken_back(seat: Seat) -> None:
    with seat.open(script=[say("One."), say("Two.")]) as program:
        talk(program, ("first", "One."))
        enter(program, "/undo")
        program.wait_for("continues from before that message")
        enter(program, "/redo")
        program.wait_for("The conversation continues from here.")
        talk(program, ("second", "Two."))

    assert [text for _, text in seat.heard()] == ["first", "One.", "second"]


def test_a_file_that_somebody_else_changed_stays_and_is_named(seat: Seat) -> None:
    changed = seat.project / "a.txt"
    changed.write_text("old\n")
    with seat.open(script=_WRITING) as program:
        have_written(program)
        program.wait_for(lambda _: f'"{CHECKPOINT}"' in seat.session_files[0].read_text())  # it is taken behind the run
        changed.write_text("by hand\n")
        enter(program, "/undo")
        program.wait_for("Files are unchanged")
        program.wait_for("a.txt: ")
        choose(program, "c")
        program.wait_for("continues from before that message")

    assert changed.read_text() == "by hand\n"


def test_what_changed_while_a_command_ran_can_stay(seat: Seat) -> None:
    (seat.project / "a.txt").write_text("old\n")
    (seat.project / "b.txt").write_text("old\n")
    script = [*_WRITING[:2], call("bash", command="echo perhaps mine >> b.txt"), say("Written.")]
    with seat.open("--approvals", "auto", script=script) as program:
        talk(program, ("change it", "Written."))
        enter(program, "/undo")
        program.wait_for("~restored   b.txt -1")
        choose(program, "m")
        program.wait_for("Restored: a.txt")
        program.wait_for("b.txt: changed while a command ran")

    assert (seat.project / "a.txt").read_text() == "old\n"
    assert (seat.project / "b.txt").read_text() == "old\nperhaps mine\n"


def test_nothing_to_take_back_is_told(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/undo")
        program.wait_for("there is no message to go back to")
        enter(program, "/redo")
        program.wait_for("there is nothing to redo")
        enter(program, "/tree")
        program.wait_for("this session has no messages yet")


def test_a_conversation_that_is_too_long_is_condensed_and_goes_on(seat: Seat) -> None:
    seat.settings(compaction={"keepRecentTokens": 1})
    seat.use(seat.model, "openai-completions", contextWindow=_WINDOW)
    script = [Answer(text=("One.",), usage=Tokens(prompt=30_000)), pausing("## Goal", "\nnumbers"), say("Two.")]
    with seat.open(script=script) as program:
        talk(program, ("first", "One."))
        enter(program, "second")
        seat.model.wait_until_stalled()
        program.wait_for("Compacting the conversation")
        enter(program, "and third")
        program.wait_for("steering: and third")
        seat.model.release()
        program.wait_for("[compacted: ")
        program.wait_for("Two.")

    assert "## Goal\nnumbers" in seat.heard()[0][1]


def test_condensing_is_stopped_and_gives_back_what_waited(seat: Seat) -> None:
    seat.settings(compaction={"keepRecentTokens": 1})
    with seat.open(script=[say("One."), say("Two."), pausing("## Goal", "\nnumbers"), say("Three.")]) as program:
        talk(program, ("first", "One."), ("second", "Two."))
        enter(program, "/compact")
        seat.model.wait_until_stalled()
        program.wait_for("Compacting the conversation")
        enter(program, "third")
        program.wait_for("steering: third")
        program.press("escape")
        program.wait_for("The compaction was stopped.")
        program.wait_for(lambda screen: "steering: third" not in screen.text() and "third" in screen.text())
        program.press("enter")
        program.wait_for("Three.")

    assert [text for _, text in seat.heard()] == ["first", "One.", "second", "Two.", "third"]


def test_a_compaction_is_shown_once_and_taken_back(seat: Seat) -> None:
    seat.settings(compaction={"keepRecentTokens": 1})
    with seat.open(script=[say("One."), say("Two."), say("## Goal\nnumbers"), say("Three.")]) as program:
        talk(program, ("first", "One."), ("second", "Two."))
        enter(program, "/compact")
        program.wait_for("[compacted: ")
        program.wait_for(is_idle)
        assert program.screen.text().count("compacted") == 1
        enter(program, "/uncompact")
        program.wait_for("The last compaction was taken back")
        talk(program, ("third", "Three."))

    assert [text for _, text in seat.heard()] == ["first", "One.", "second", "Two.", "third"]


def test_a_cache_miss_is_told_if_that_is_wanted(seat: Seat) -> None:
    seat.settings(showCacheMissNotices=True)
    cached = Tokens(prompt=30_000, cached=29_000)
    script = [Answer(text=("One.",), usage=cached), Answer(text=("Two.",), usage=Tokens(prompt=30_100))]
    with seat.open(script=script) as program:
        talk(program, ("first", "One."), ("second", "Two."))

        program.wait_for("The cache missed ")
