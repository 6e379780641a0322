"""Beginnings and ends at the terminal: trust, sessions that go on, signals, crashes; it is always given back."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.seat import READY, Seat, answer, enter, is_idle, pausing
from tests.support.model_server import call, say
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes
from tests.support.program import Program
from tests.support.screen import Screen
from tests.support.warm_start import COMMAND


def is_given_back(program: Program) -> bool:
    """Whether the terminal is as it was before."""
    screen = program.screen
    return (
        not program.is_raw
        and screen.modes == Screen().modes
        and screen.keyboard == 0
        and screen.cursor_visible
        and not screen.in_alternate_screen
    )


# Trust


def _configure(project: Path, words: str) -> None:
    (project / ".kaa").mkdir(exist_ok=True)
    (project / ".kaa" / "APPEND_SYSTEM.md").write_text(words)


def _system_prompt(seat: Seat) -> str:
    return str(seat.model.requests[-1].json["messages"][0]["content"])


def test_a_project_is_used_only_as_far_as_it_is_trusted(seat: Seat) -> None:
    _configure(seat.project, "Speak like a pirate.")

    with seat.start(script=[say("Hello.")]) as program:
        program.wait_for("Do you trust this project?")
        answer(program, "n")
        enter(program, "hi")
        program.wait_for("Hello.")
        assert "pirate" not in _system_prompt(seat)

    with seat.start(script=[say("Ahoy.")]) as program:
        program.wait_for("Do you trust this project?")
        answer(program, "y")
        enter(program, "hi")
        program.wait_for("Ahoy.")
        assert "pirate" in _system_prompt(seat)

    _configure(seat.project, "Speak like a robot.")
    with seat.start(script=[say("Beep.")]) as program:
        program.wait_for("This project's files have changed")
        program.wait_for("Speak like a robot.")
        answer(program, "d")
        enter(program, "hi")
        program.wait_for("Beep.")
        assert "robot" not in _system_prompt(seat)

    with seat.open("hi", script=[say("Hello again.")]) as program:
        program.wait_for("Hello again.")
        assert "robot" not in _system_prompt(seat)


def test_instructions_alone_are_shown_and_asked_about_once(seat: Seat) -> None:
    instructions = seat.project / "AGENTS.md"
    instructions.write_text("Speak like a pirate.\n\x1b]0;owned\x07 Zero\u200bwidth.\n")

    with seat.start(script=[say("Ahoy.")]) as program:
        program.wait_for("Do you trust this project?")
        program.wait_for("Speak like a pirate.")
        assert r"\x1b]0;owned\x07 Zero\u200bwidth." in program.screen.text()
        answer(program, "y")
        enter(program, "hi")
        program.wait_for("Ahoy.")
        assert "<instructions" in _system_prompt(seat)

    with seat.open("hi", script=[say("Ahoy again.")]) as program:  # nothing is asked
        program.wait_for("Ahoy again.")
        assert "<instructions" in _system_prompt(seat)

    instructions.write_text("Speak like a robot.\n")
    with seat.start(script=[say("Beep.")]) as program:
        program.wait_for("This project's files have changed")
        program.wait_for("Speak like a robot.")
        program.wait_for("(y)")
        program.press("escape")
        enter(program, "hi")
        program.wait_for("Beep.")
        assert "<project-file" in _system_prompt(seat)


def test_trust_can_be_decided_later(seat: Seat) -> None:
    with seat.open(script=[say("Ahoy.")]) as program:
        enter(program, "/trust")
        program.wait_for("there is nothing to trust")
        _configure(seat.project, "Speak like a pirate.")
        enter(program, "/trust")
        program.wait_for("Do you trust this project?")
        answer(program, "o")
        program.wait_for("until you leave kaa")
        enter(program, "/new")
        program.wait_for("Started a new session.")
        enter(program, "hi")
        program.wait_for("Ahoy.")

    assert "pirate" in _system_prompt(seat)


def test_what_nobody_can_answer_for_is_told_and_not_used(seat: Seat) -> None:
    _configure(seat.project, "Speak like a pirate.\n" * 200_000)

    with seat.open(script=[say("Hello.")]) as program:
        enter(program, "/trust")
        program.wait_for("This project cannot be trusted: its configuration is larger than 2 MiB.")
        program.wait_for(is_idle)
        enter(program, "hi")
        program.wait_for("Hello.")

    assert "pirate" not in _system_prompt(seat)


def test_what_is_typed_before_the_question_of_trust_does_not_answer_it(seat: Seat) -> None:
    _configure(seat.project, "Speak like a pirate.")

    with seat.start(script=[say("Hello.")]) as program:
        program.wait_for("Ask kaa")
        enter(program, "yyy")
        program.wait_for("Do you trust this project?")
        program.wait_for("(y)")
        program.press("escape")
        program.wait_for("Hello.")

    assert seat.heard() == [("user", "yyy")]
    assert "pirate" not in _system_prompt(seat)


# Sessions


def test_a_session_goes_on_with_what_was_said(seat: Seat) -> None:
    with seat.open(script=[say("The answer is 42.")]) as program:
        enter(program, "what is the answer?")
        program.wait_for("The answer is 42.")
        program.wait_for(is_idle)
        program.press("ctrl+d")
        assert program.wait_for_end() == 0
        assert is_given_back(program)
        assert "kaa -c resumes this session" in program.screen.text()

    with seat.open("-c", script=[say("Because.")]) as program:
        program.wait_for("what is the answer?")
        program.wait_for("The answer is 42.")
        enter(program, "why?")
        program.wait_for("Because.")

    assert seat.heard() == [("user", "what is the answer?"), ("assistant", "The answer is 42."), ("user", "why?")]


def test_a_partial_answer_survives_a_kill(seat: Seat) -> None:
    with seat.open(script=[pausing("As far ", "as this ", "and on.", after=2)]) as program:
        enter(program, "tell me")
        program.wait_for("As far as this")
        program.signal(signal.SIGKILL)
        program.wait_for_end()

    with seat.open("-c") as program:
        program.wait_for("tell me")
        program.wait_for("As far as this")


def test_two_at_once_in_one_project_do_not_disturb_each_other(seat: Seat) -> None:
    script = [say("To one."), say("To the other.")]
    with seat.open(script=script) as one, seat.open(script=script) as other:
        enter(one, "from one")
        one.wait_for("To one.")
        enter(other, "from the other")
        other.wait_for("To the other.")

    assert seat.heard() == [("user", "from the other")]
    assert len(list(seat.home.glob("sessions/**/*.jsonl"))) == 2


# Signals and crashes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(seat: Seat, number: signal.Signals) -> None:
    with seat.open(script=[pausing("Half an ", "answer.")]) as program:
        enter(program, "explain")
        program.wait_for("Half an")
        program.signal(number)

        assert program.wait_for_end() == 128 + number
        assert is_given_back(program)

    assert "Half an" in seat.session_text


def test_ctrl_c_clears_then_leaves(seat: Seat) -> None:
    with seat.open() as program:
        program.type("half a thought")
        program.wait_for("half a thought")
        program.press("ctrl+d")  # there is something typed
        program.press("ctrl+c")
        program.wait_for(is_idle)
        program.press("ctrl+c")
        program.wait_for("Ctrl+C again to leave")
        program.press("ctrl+c")

        assert program.wait_for_end() == 0
        assert is_given_back(program)


def test_leaving_while_it_works_stops_the_work(seat: Seat) -> None:
    with seat.open("wait", script=[call("bash", command="echo $$ > pid; sleep 1000")]) as program:
        program.wait_for("Yes, this time")
        answer(program, "y")
        program.wait_for(lambda _: (seat.project / "pid").exists() and (seat.project / "pid").read_text() != "")
        program.press("ctrl+d")
        program.wait_for("Stop it and leave")
        program.press("q")

        assert program.wait_for_end() == 0
        assert is_given_back(program)

    Processes().wait_until_gone(int((seat.project / "pid").read_text()))


def test_it_can_be_suspended_and_goes_on(seat: Seat) -> None:
    shell = [sys.executable, "-c", _SHELL, COMMAND, "--sandbox", "full-access"]
    seat.model.begin([say("I am back.")])
    with Program.start(shell, env=seat.environ, cwd=seat.project) as program:
        program.wait_for(READY)
        program.type("kept")
        program.wait_for("kept")
        program.press("ctrl+z")
        program.wait_for("it is suspended")
        assert is_given_back(program)
        program.write(b"go on\n")
        program.wait_for(lambda screen: "kept" in screen.text().rpartition("go on")[2])
        assert program.is_raw
        program.press("enter")
        program.wait_for("I am back.")

    assert seat.heard() == [("user", "kept")]


# As much job control as a shell has: the program in the foreground until it stops, then the terminal is the shell's.
_SHELL = """\
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]):
    os.tcsetpgrp(0, os.getpgrp())
    print("it is suspended")
    sys.stdin.readline()
    os.tcsetpgrp(0, child)
    os.killpg(child, signal.SIGCONT)
"""


def test_a_crash_gives_the_terminal_back_and_is_told(seat: Seat) -> None:
    # Python itself lets a file named so replace any module; the installed command lets nobody name its folder.
    (seat.project / "broken").mkdir()
    (seat.project / "broken" / "sitecustomize.py").write_text(_SABOTAGE)
    seat.setenv(PYTHONPATH=str(seat.project / "broken"))

    command = [sys.executable, "-m", "kaa", "--sandbox", "full-access"]
    with Program.start(command, env=seat.environ, cwd=seat.project) as program:
        assert program.wait_for_end() == 1
        assert is_given_back(program)
        assert "the sky is falling" in program.screen.text()


_SABOTAGE = """\
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "kaa.frontends.interactive.engine":
            raise RuntimeError("the sky is falling")

sys.meta_path.insert(0, Finder())
"""


def test_what_keeps_it_from_starting_is_told_and_can_be_mended(seat: Seat) -> None:
    extension = seat.home / "extensions" / "mine.py"
    extension.parent.mkdir()
    extension.write_text("raise ValueError('not today')\n")
    seat.settings(requiredExtensions=["mine"])

    with seat.start(script=[say("Still here.")]) as program:
        program.wait_for("not today")
        enter(program, "hello?")
        program.wait_for(lambda screen: screen.text().count("not today") == 2 and "hello?" in screen.text())
        extension.write_text("def extend(api): pass\n")
        program.press("enter")
        program.wait_for("Still here.")

    assert seat.heard() == [("user", "hello?")]


def test_the_message_of_the_command_line_is_said_once(seat: Seat) -> None:
    with seat.open("say hello", script=[say("Hello."), say("Again.")]) as program:
        program.wait_for("Hello.")
        enter(program, "/new")
        program.wait_for("Started a new session.")
        enter(program, "hello again")
        program.wait_for("Again.")

    assert [seat.heard(request) for request in (0, 1)] == [[("user", "say hello")], [("user", "hello again")]]


def test_without_a_terminal_it_says_what_to_do(seat: Seat) -> None:
    done = subprocess.run(
        [COMMAND],
        cwd=seat.project,
        env=seat.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        start_new_session=True,
        timeout=HANG_SECONDS,
        check=False,
    )

    assert done.returncode == 2
    assert "-p" in done.stderr


# Modes without drawing


@pytest.mark.parametrize(("flags", "term"), [(("--plain",), "xterm-256color"), ((), "dumb")])
def test_line_by_line_a_task_is_done(seat: Seat, flags: tuple[str, ...], term: str) -> None:
    seat.setenv(TERM=term)

    with seat.start(
        *flags,
        script=[call("bash", command="echo $((40 + 2)) > it"), say("It is done.")],
        screen=Screen(answers="none"),
    ) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"do it\n")
        program.wait_for("Allow bash?")
        program.wait_for("Answer with a letter")
        program.write(b"y\n")
        program.wait_for(re.compile(r"It is done\.\n(.*\n)*>$"))  # while the run ends, /quit would ask
        assert (seat.project / "it").read_text() == "42\n"
        assert program.screen.unknown == []
        assert program.screen.modes == Screen().modes
        if term == "dumb":
            assert program.screen.queries == []
        program.write(b"/quit\n")

        assert program.wait_for_end() == 0

    assert json.loads(seat.session_text.splitlines()[0])["type"] == "session"


def test_line_by_line_ctrl_c_stops_and_ctrl_d_leaves(seat: Seat) -> None:
    with seat.start(
        "--plain", script=[pausing("First this.\n\nThen that.\n\nAnd ", "more."), say("Shorter.")]
    ) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"explain\n")
        program.wait_for("First this.")
        program.write(b"\x03")
        program.wait_for("Stopped.")
        program.write(b"shorter\n")
        program.wait_for("Shorter.")
        program.wait_for(re.compile("^>$"))
        program.write(b"\x04")

        assert program.wait_for_end() == 0
