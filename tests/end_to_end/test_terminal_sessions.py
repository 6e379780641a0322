"""Going to other sessions at the terminal: the list, its search, copies, and what is done to the files."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.seat import READY, Seat, enter, is_idle, pausing
from tests.support.model_server import say
from tests.support.program import Program

_LIST = "Continue which session?"


@pytest.fixture
def two_sessions(seat: Seat) -> Seat:
    """A project with two sessions, about apples and, newer, about pears."""
    for fruit in ("apples", "pears"):
        seat.model.begin([say(f"All about {fruit}.")])
        assert seat.run("--sandbox", "full-access", "-p", f"tell me of {fruit}").code == 0
    return seat


def leave(program: Program) -> None:
    """Leave in order, so that the session is let go."""
    program.press("ctrl+d")
    assert program.wait_for_end() == 0


def test_extensions_learn_of_sessions_and_may_object_to_leaving_one(seat: Seat) -> None:
    notes, stay = seat.home / "notes", seat.home / "stay"
    (seat.home / "extensions").mkdir()
    (seat.home / "extensions" / "mine.py").write_text(
        "import os\n"
        "from kaa.core.hooks import Block\n"
        "def note(text):\n"
        f"    with open({str(notes)!r}, 'a') as file:\n"
        "        file.write(text + '\\n')\n"
        "async def start(session, context): note(f'start {session.reason}')\n"
        "async def end(session, context): note(f'end {session.reason}')\n"
        "async def leaving(wanted, context):\n"
        f"    return Block('stay a while') if os.path.exists({str(stay)!r}) else None\n"
        "def extend(api):\n"
        "    api.on_session_start(start)\n"
        "    api.on_session_end(end)\n"
        "    api.before_navigation(leaving)\n"
    )
    stay.touch()

    with seat.open(script=[say("Hello."), say("Still here."), say("Somewhere else.")]) as program:
        enter(program, "hello")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        enter(program, "/new")
        program.wait_for("stay a while")
        enter(program, "and now?")
        program.wait_for("Still here.")
        program.wait_for(is_idle)
        stay.unlink()
        enter(program, "/new")
        program.wait_for("Started a new session")
        enter(program, "and now?")
        program.wait_for("Somewhere else.")
        program.wait_for(is_idle)
        leave(program)

    assert notes.read_text().splitlines() == ["start startup", "end new", "start new", "end quit"]
    assert len(seat.session_files) == 2


def test_a_start_can_begin_with_the_list_of_sessions(two_sessions: Seat) -> None:
    with two_sessions.start("-r", script=[say("Red.")]) as program:
        program.wait_for(_LIST)
        program.wait_for("tell me of pears")
        program.type("appl")
        program.wait_for(lambda screen: "tell me of pears" not in screen.text())
        program.press("enter")
        program.wait_for("All about apples.")
        program.wait_for(READY)
        enter(program, "which colour?")
        program.wait_for("Red.")

    assert [text for _, text in two_sessions.heard()] == ["tell me of apples", "All about apples.", "which colour?"]
    assert len(two_sessions.session_files) == 2


def test_leaving_says_how_to_go_on_with_an_older_session(two_sessions: Seat) -> None:
    with two_sessions.open() as program:
        enter(program, "/resume apples")
        program.wait_for("(1/1)")
        program.press("enter")
        program.wait_for("All about apples.")
        program.wait_for(is_idle)
        leave(program)
        said = re.search(r"kaa --session (\S+) resumes this session", program.screen.text())

    assert said is not None
    done = two_sessions.run("--session", said[1], "-p", "/session")
    assert str(two_sessions.session_about("All about apples.")) in done.out


def test_leaving_names_the_session_if_another_kaa_worked_here_meanwhile(seat: Seat) -> None:
    with seat.open(script=[say("Red."), say("Blue.")]) as program:
        enter(program, "which colour?")
        program.wait_for("Red.")
        program.wait_for(is_idle)
        seat.run("-p", "and the sky?")
        leave(program)
        said = re.search(r"kaa --session (\S+) resumes this session", program.screen.text())

    assert said is not None
    assert str(seat.session_about("which colour?")) in seat.run("--session", said[1], "-p", "/session").out


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_leaving_a_worktree_says_how_to_go_on_in_it(seat: Seat) -> None:
    (seat.project / "a").touch()
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=seat.project, env=seat.environ, check=True)

    with seat.open("--worktree", "feat", script=[say("Red.")]) as program:
        enter(program, "which colour?")
        program.wait_for("Red.")
        program.wait_for(is_idle)
        leave(program)
        assert "kaa --worktree feat -c resumes this session" in program.screen.text()

    assert str(seat.session_about("which colour?")) in seat.run("--worktree", "feat", "-c", "-p", "/session").out


def test_who_chooses_none_begins_a_new_session(two_sessions: Seat) -> None:
    with two_sessions.start("-r", script=[say("Fresh.")]) as program:
        program.wait_for("tell me of pears")
        program.press("escape")
        program.wait_for(READY)
        enter(program, "hello")
        program.wait_for("Fresh.")

    assert two_sessions.heard() == [("user", "hello")]


def test_the_session_before_is_kept_and_can_be_gone_back_to(two_sessions: Seat) -> None:
    with two_sessions.open(script=[say("A third."), say("Green.")]) as program:
        enter(program, "something else")
        program.wait_for("A third.")
        program.wait_for(is_idle)
        enter(program, "/resume pears")
        program.wait_for(_LIST)
        program.wait_for("tell me of pears")
        program.press("enter")
        program.wait_for("All about pears.")
        program.wait_for("The previous session is saved.")
        enter(program, "which colour?")
        program.wait_for("Green.")
        program.wait_for(is_idle)
        enter(program, "/resume something")
        program.wait_for("(1/1)")
        program.press("enter")

        program.wait_for(lambda screen: screen.text().count("A third.") == 2)

    assert [text for _, text in two_sessions.heard()] == ["tell me of pears", "All about pears.", "which colour?"]


def test_what_waits_in_a_session_that_is_left_comes_back(seat: Seat) -> None:
    with seat.open(script=[pausing("On", "e."), say("Two.")]) as program:
        enter(program, "first")
        program.wait_for("On")
        enter(program, "and second")
        program.wait_for("steering: and second")
        enter(program, "/new")
        program.wait_for("Started a new session.")
        program.wait_for(lambda screen: "steering:" not in screen.text() and "and second" in screen.text())
        program.press("enter")
        program.wait_for("Two.")

    assert seat.heard() == [("user", "and second")]


def test_a_session_that_another_process_has_is_not_opened(two_sessions: Seat) -> None:
    with two_sessions.open("-c") as holder, two_sessions.open() as program:
        holder.wait_for("All about pears.")
        enter(program, "/resume")
        program.wait_for("tell me of pears")
        program.press("enter")

        program.wait_for(lambda screen: "Another kaa uses" in " ".join(screen.text().split()))
        assert sys.platform != "linux" or f"process {holder.pid}" in " ".join(program.screen.text().split())
        program.press("escape")
        program.wait_for(_LIST)
        program.press("escape")
        program.wait_for(is_idle)

    assert two_sessions.model.requests == []


def test_a_session_that_another_process_has_can_be_looked_at(two_sessions: Seat) -> None:
    with two_sessions.open("-c") as holder, two_sessions.open() as program:
        holder.wait_for("All about pears.")
        enter(program, "/resume")
        program.wait_for("tell me of pears")
        program.press("enter")
        program.wait_for("Open it read-only")
        program.type("v")

        program.wait_for("All about pears.")
        program.wait_for("It is open read-only")
        enter(program, "anything new?")
        program.wait_for(lambda screen: "continue in a copy" in " ".join(screen.text().split()))

    assert two_sessions.model.requests == []


def test_a_session_in_use_can_be_looked_at_from_the_start(two_sessions: Seat) -> None:
    newest = max(two_sessions.session_files)
    with two_sessions.open("-c") as holder:
        holder.wait_for("All about pears.")
        with two_sessions.start("--view", str(newest)) as program:
            program.wait_for("All about pears.")
            program.wait_for(READY)
            leave(program)


def test_who_cannot_have_the_last_session_can_take_another_one(two_sessions: Seat) -> None:
    with two_sessions.open("-c") as holder:
        holder.wait_for("All about pears.")
        with two_sessions.start("-c", script=[say("Sour.")]) as program:
            program.wait_for(lambda screen: "is in use by" in " ".join(screen.text().split()))
            enter(program, "/resume apples")
            program.wait_for("(1/1)")
            program.press("enter")
            program.wait_for("All about apples.")
            enter(program, "how do they taste?")
            program.wait_for("Sour.")

    assert two_sessions.heard()[0] == ("user", "tell me of apples")


def test_a_session_is_renamed_in_the_list(two_sessions: Seat) -> None:
    with two_sessions.open() as program:
        enter(program, "/resume")
        program.wait_for("tell me of pears")
        program.press("ctrl+r")
        program.wait_for("Name (empty")
        program.type("Fruit of the pear tree")
        program.press("enter")

        program.wait_for("› Fruit of the pear tree")

    last = two_sessions.session_about("All about pears.").read_text("utf-8").splitlines()[-1]
    assert msgspec.json.decode(last)["name"] == "Fruit of the pear tree"


def test_a_session_goes_to_the_trash_after_a_yes(two_sessions: Seat) -> None:
    path = two_sessions.session_about("All about pears.")
    with two_sessions.open() as program:
        enter(program, "/resume")
        program.wait_for("tell me of pears")
        program.press("ctrl+d")
        program.wait_for("Delete this session?")
        program.press("enter")
        program.wait_for(lambda screen: "Delete this session?" not in screen.text())
        assert path.exists()
        program.press("ctrl+d")
        program.wait_for("Delete this session?")
        program.press("y")
        program.wait_for("moved to the trash: tell me of pears")
        program.wait_for("› tell me of apples")

    assert not path.exists()
    assert list(two_sessions.home.parent.rglob(f"Trash/files/{path.name}"))


def test_the_session_that_is_open_cannot_be_thrown_away(two_sessions: Seat) -> None:
    path = two_sessions.session_about("All about pears.")
    with two_sessions.open("-c") as program:
        enter(program, "/resume")
        program.wait_for("tell me of pears ✓")
        program.press("ctrl+d")

        program.wait_for("this session is open: go to another one first")

    assert path.exists()


def test_what_was_said_is_found_and_shown_in_its_tree(two_sessions: Seat) -> None:
    with two_sessions.open(script=[say("Sour.")]) as program:
        enter(program, "/search about apples")
        program.wait_for("All about apples.")
        program.press("enter")
        program.wait_for("Continue from which entry?")
        program.wait_for("› ")
        program.press("escape")
        program.wait_for(is_idle)
        enter(program, "how do they taste?")
        program.wait_for("Sour.")

    assert two_sessions.heard()[:2] == [("user", "tell me of apples"), ("assistant", "All about apples.")]


def test_a_title_that_no_session_has_is_looked_for_in_what_was_said(two_sessions: Seat) -> None:
    with two_sessions.open() as program:
        enter(program, "/resume")
        program.wait_for("tell me of pears")
        program.type('"all about p"')
        program.wait_for("No title matches")
        program.press("enter")

        program.wait_for("1 match for ")
        program.wait_for("All about pears.")


def test_a_session_of_another_directory_is_copied_if_that_is_wanted(two_sessions: Seat) -> None:
    elsewhere = two_sessions.project
    two_sessions.project = elsewhere.parent / "other"
    two_sessions.project.mkdir()

    with two_sessions.open(script=[say("Here now.")]) as program:
        enter(program, "/resume")
        program.wait_for("There is no session yet")
        program.press("tab")
        program.wait_for("tell me of pears")
        program.press("enter")
        program.wait_for("A session of another directory")
        program.press("escape")
        elsewhere.rename(elsewhere.parent / "moved")
        program.wait_for("tell me of pears")
        program.press("enter")
        program.wait_for("The directory of the session is gone")
        program.press("f")
        program.wait_for("A copy of it continues here.")
        enter(program, "and here?")
        program.wait_for("Here now.")

    copy = two_sessions.session_about("Here now.")
    header = msgspec.json.decode(copy.read_text("utf-8").splitlines()[0])
    assert header["cwd"] == str(two_sessions.project)
    assert Path(header["parentSession"]).read_text("utf-8").count("All about pears.") == 1


def test_line_by_line_the_list_has_numbers(two_sessions: Seat) -> None:
    with two_sessions.start("--plain", "-r", script=[say("Red.")]) as program:
        program.wait_for("2. tell me of apples")
        enter(program, "apples")
        program.wait_for("All about apples.")
        enter(program, "which colour?")
        program.wait_for("Red.")

    assert two_sessions.heard()[0] == ("user", "tell me of apples")
