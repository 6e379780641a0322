"""Real processes on pseudo-terminals: what they do to the terminal, and how they leave it."""

import fcntl
import os
import re
import signal
import sys
import termios
from pathlib import Path

import pytest

from kaa.tui.terminal import RESET_SEQUENCE
from tests.support.processes import Processes
from tests.support.program import Program
from tests.support.screen import Screen

# Shows every event in a line. Some keys do things.
_PROGRAM = r"""
import os, signal, subprocess, sys
from kaa.tui.events import Key
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal
from kaa.tui.application import TerminalInput

reactor = Reactor()
terminal = Terminal()
resumed = []

def show(*words):
    terminal.write(" ".join(map(str, words)) + "\r\n")

def elsewhere():
    with terminal.released():
        subprocess.run(["sh", "-c", "stty -a | grep -o -- '-*icanon'; read line; echo got $line"])
    show("back")

def fail():
    raise SystemExit("it failed")

def act(events):
    for event in events:
        show(event.id if isinstance(event, Key) else event)
        match event:
            case Key("q"): reactor.stop()
            case Key("e"): elsewhere()
            case Key("x"): fail()
            case Key("k"): os.kill(os.getpid(), signal.SIGTERM)
            case Key("a"): terminal.set_alternate_screen(on=True); terminal.set_mouse(on=True); show("alternate")
            case Key("t"): terminal.set_title("mine"); show("titled")
            case Key("w"): open(sys.argv[1], "w").write(str(os.getpid())); terminal.write("x" * 1_000_000)
            case Key("z"): terminal.suspend(); show("awake")
            case Key("s"): show("size", terminal.size.columns, terminal.size.rows)

with terminal:
    terminal.farewell = lambda: "farewell\r\n"
    TerminalInput(
        terminal, reactor, act,
        on_resize=lambda: show("size", terminal.size.columns, terminal.size.rows),
        on_resume=lambda: show("resumed"), on_gone=reactor.stop,
    )
    show("ready")
    if "ask" in sys.argv:
        terminal.ask()
    reactor.run()
"""
# A shell with job control, as far as it matters here.
_SHELL = r"""
import os, pathlib, signal, sys, termios, time

def is_stopping():
    # Whether a process of the job has yet to stop: until then it would take what is typed.
    for stat in [pathlib.Path("/proc", name, "stat") for name in os.listdir("/proc") if name.isdecimal()]:
        try:
            state, _, group, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        if group == str(job) and state not in "TZ":
            return True
    return False

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
mine = termios.tcgetattr(0)
job = os.fork()
if not job:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
os.set_inheritable(0, True)
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    while is_stopping():
        time.sleep(0.01)
    os.tcsetpgrp(0, os.getpgrp())
    raw = not termios.tcgetattr(0)[3] & termios.ICANON
    termios.tcsetattr(0, termios.TCSADRAIN, mine)
    print("stopped", "raw" if raw else "cooked", flush=True)
    if input() != "bg":
        os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
print("done", flush=True)
"""
_OURS = {1002, 1004, 1006, 1049, 2004, 2031}


def run(
    *arguments: str, screen: Screen | None = None, script: tuple[str, ...] = (_PROGRAM,), term: str = "xterm-256color"
) -> Program:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        "LANG": "C.UTF-8",
        "TERM": term,
    }
    return Program.start([sys.executable, "-c", *script, *arguments], env=environment, screen=screen)


def is_restored(program: Program) -> bool:
    screen = program.screen
    return not program.is_raw and not screen.modes & _OURS and screen.modes >= {7, 25} and screen.keyboard == 0


def test_it_makes_the_terminal_its_own_and_gives_it_back() -> None:
    with run() as program:
        program.wait_for("ready")

        assert program.is_raw
        assert program.screen.modes >= {1004, 2004, 2031}
        assert program.screen.keyboard == 5

        program.press("q")
        assert program.wait_for_end() == 0
        assert is_restored(program)
        assert "farewell" in program.screen.lines()
        assert program.screen.unknown == []


@pytest.mark.parametrize(("key", "status"), [("x", 1), ("k", -signal.SIGTERM)])
def test_it_is_restored_when_the_program_fails(key: str, status: int) -> None:
    with run() as program:
        program.wait_for("ready")
        program.press("t", "a")
        program.wait_for(lambda screen: screen.in_alternate_screen and "alternate" in screen.text())

        program.press(key)

        assert program.wait_for_end() == status
        assert is_restored(program)
        assert not program.screen.in_alternate_screen
        assert program.screen.title == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
def test_it_is_restored_when_a_signal_ends_the_program(number: signal.Signals) -> None:
    with run() as program:
        program.wait_for("ready")

        program.signal(number)

        assert program.wait_for_end() == -number
        assert is_restored(program)


def test_the_reset_sequence_puts_right_what_a_kill_leaves() -> None:
    with run() as program:
        program.wait_for("ready")
        program.press("a")
        program.wait_for("alternate")
        program.signal(signal.SIGKILL)
        program.wait_for_end()
        assert program.screen.in_alternate_screen

        program.screen.feed(RESET_SEQUENCE)

        assert not program.screen.modes & _OURS
        assert program.screen.keyboard == 0


def test_another_program_gets_the_terminal_as_it_was() -> None:
    with run() as program:
        program.wait_for("ready")
        program.press("a", "e")
        program.wait_for(re.compile("^icanon"))
        assert is_restored(program)

        program.write(b"hello\n")
        program.wait_for("back")

        assert "got hello" in program.screen.everything()
        assert program.is_raw
        assert program.screen.in_alternate_screen
        assert program.screen.keyboard == 5


@pytest.mark.parametrize("key", [b"\x03", b"\x1c"])
def test_keys_that_end_another_program_do_not_end_this_one(key: bytes) -> None:
    with run() as program:
        program.wait_for("ready")
        program.press("e")
        program.wait_for(re.compile("^icanon"))

        program.write(key)
        program.wait_for("back")

        assert program.is_raw
        assert program.exit_status is None


def test_the_key_that_suspends_another_program_gives_the_shell_the_terminal() -> None:
    with run(script=(_SHELL, _PROGRAM)) as program:
        program.wait_for("ready")
        program.press("e")
        program.wait_for(re.compile("^icanon"))
        program.write(b"\x1a")
        program.wait_for("stopped cooked")

        program.write(b"\n")
        program.write(b"hello\n")
        program.wait_for("got hello")
        program.wait_for("back")

        assert program.is_raw


def test_let_go_on_in_the_background_it_waits_for_the_terminal() -> None:
    with run(script=(_SHELL, _PROGRAM)) as program:
        program.wait_for("ready")
        program.press("z")
        program.wait_for("stopped cooked")

        program.write(b"bg\n")
        program.wait_for(lambda screen: screen.text().count("stopped cooked") == 2)
        program.write(b"\n")

        program.wait_for("awake")
        assert program.is_raw


def test_a_terminal_that_takes_nothing_does_not_keep_it(tmp_path: Path) -> None:
    with run(str(tmp_path / "pid")) as program:
        program.wait_for("ready")
        program.press("w")
        Processes.pids_in(tmp_path / "pid", 1)

        program.signal(signal.SIGTERM)
        Processes().wait_until_gone(program.pid)

        assert not program.is_raw


def test_a_suspended_program_leaves_the_terminal_to_the_shell_and_comes_back() -> None:
    with run(script=(_SHELL, _PROGRAM)) as program:
        program.wait_for("ready")
        program.press("t")
        program.wait_for("titled")
        program.press("z")
        program.wait_for("stopped cooked")
        assert is_restored(program)
        assert program.screen.title == ""

        program.write(b"\n")
        program.wait_for("awake")
        assert program.is_raw
        assert program.screen.keyboard == 5
        assert program.screen.title == "mine"

        program.press("q")
        program.wait_for("done")
        assert "resumed" not in program.screen.text()
        assert is_restored(program)


def test_where_nobody_could_wake_it_it_does_not_stop() -> None:
    with run() as program:
        program.wait_for("ready")

        program.press("z")

        program.wait_for("awake")
        assert program.is_raw


def test_stopped_by_somebody_else_it_sets_up_again_what_the_shell_has_changed() -> None:
    with run(script=(_SHELL, _PROGRAM)) as program:
        program.wait_for("ready")
        (job,) = _children(program.pid)
        os.kill(job, signal.SIGSTOP)
        program.wait_for("stopped raw")

        program.write(b"\n")

        program.wait_for("resumed")
        assert program.is_raw
        assert program.screen.keyboard == 5


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_it_follows_the_size() -> None:
    with run() as program:
        program.wait_for("ready")
        program.press("s")
        program.wait_for("size 100 30")

        program.resize(70, 20)

        program.wait_for("size 70 20")


def test_it_asks_after_the_first_frame_and_learns() -> None:
    with run("ask") as program:
        program.wait_for("attributes")

        assert "kitty-keyboard" in program.screen.queries
        assert program.screen.queries[-1] == "attributes"
        assert "CSI >4;2m" not in program.screen.unknown


def test_answers_that_are_on_their_way_do_not_reach_the_shell() -> None:
    slow = Screen(100, 30, answers="none")
    with run("ask", screen=slow) as program:
        program.wait_for("ready")
        program.wait_for(lambda screen: "attributes" in screen.queries)
        program.press("q")
        program.wait_for("farewell")
        program.write(b"\x1b]11;rgb:00/00/00\x07\x1b[?62c")

        assert program.wait_for_end() == 0
        assert is_restored(program)
        assert _waiting(program) == 0


def test_a_terminal_that_never_answers_does_not_keep_it() -> None:
    with run("ask", screen=Screen(100, 30, answers="none")) as program:
        program.wait_for("ready")
        program.write(b"x")  # an error is raised while it is waited for

        assert program.wait_for_end() == 1
        assert is_restored(program)


def test_a_dumb_terminal_gets_no_sequences() -> None:
    with run("ask", term="dumb") as program:
        program.wait_for("ready")
        program.write(b"q")
        program.wait_for_end()

        assert program.screen.modes == {7, 25}
        assert program.screen.queries == []
        assert not program.is_raw


def _waiting(program: Program) -> int:
    return int.from_bytes(fcntl.ioctl(program._line, termios.FIONREAD, b"\0" * 4), sys.byteorder)
