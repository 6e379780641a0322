"""Programs on a pseudo-terminal, and the keys they get."""

import os
import re
import sys

import pytest

from tests.support.key_bytes import key_bytes, paste_bytes
from tests.support.processes import Processes
from tests.support.program import NotShownError, Program
from tests.support.screen import Screen

ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PS1": "ready>"}
SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]

# Shows what it gets, until it gets a "q"; asks for the cursor first.
ECHO = """
import os, sys, tty
tty.setraw(0)
os.write(1, b"\\x1b[?2004h\\x1b[6n\\x1b[c")
while True:
    data = os.read(0, 1000)
    os.write(1, repr(data)[2:-1].encode() + b" ")
    if data == b"q":
        sys.exit(7)
"""


def test_a_shell_runs_in_its_own_terminal() -> None:
    with Program.start(SHELL, env=ENVIRONMENT, screen=Screen(60, 10)) as program:
        program.wait_for("ready>")
        program.type("stty size; test -t 0 && echo Terminal\n")

        program.wait_for("10 60\nTerminal")
        program.type("exit 3\n")
        assert program.wait_for_end() == 3


def test_what_does_not_appear_is_told_with_the_screen() -> None:
    with Program.start(SHELL, env=ENVIRONMENT) as program:
        program.wait_for("ready>")
        with pytest.raises(NotShownError, match=r"(?s)'never'.*ready>"):
            program.wait_for("never", 0.05)


def test_a_program_that_ends_is_not_waited_for() -> None:
    with Program.start(["true"], env=ENVIRONMENT) as program, pytest.raises(NotShownError, match="ended before 'x'"):
        program.wait_for("x")


def test_replies_keys_and_pastes_reach_the_program() -> None:
    with Program.start([sys.executable, "-c", ECHO], env=ENVIRONMENT) as program:
        program.wait_for(r"\x1b[1;1R")
        program.wait_for(r"\x1b[?62;22c")
        program.paste("a\nb")
        program.wait_for(r"\x1b[200~a\rb\x1b[201~")
        assert program.is_raw
        program.type("q")
        assert program.wait_for_end() == 7


def test_a_large_paste_arrives_whole() -> None:
    with Program.start(["sh", "-c", "stty raw -echo; echo ready; head -c 300000 | wc -c"], env=ENVIRONMENT) as program:
        program.wait_for("ready")
        program.paste("x" * 300_000)
        program.wait_for("300000")


def test_the_program_learns_of_a_resize() -> None:
    script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done"
    with Program.start(["bash", "-c", script], env=ENVIRONMENT) as program:
        program.wait_for("ready")
        program.resize(50, 20)
        program.wait_for(re.compile("^20 50$"))


def test_closing_ends_what_the_program_has_started() -> None:
    script = "trap '' HUP; sleep 1000 & echo $!; trap - HUP; echo ready; wait"
    with Program.start(["bash", "-c", script], env=ENVIRONMENT) as program:
        program.wait_for("ready")
        pid = int(program.screen.lines()[0])

        program.close()

        Processes().wait_until_gone(pid)


@pytest.mark.parametrize(
    ("key", "plain", "kitty"),
    [
        ("a", b"a", b"a"),
        ("shift+a", b"A", b"A"),
        ("+", b"+", b"+"),
        ("ctrl+c", b"\x03", b"\x1b[99;5u"),
        ("ctrl+shift+p", b"\x10", b"\x1b[112;6u"),
        ("alt+x", b"\x1bx", b"\x1b[120;3u"),
        ("escape", b"\x1b", b"\x1b[27u"),
        ("enter", b"\r", b"\r"),
        ("shift+enter", b"\r", b"\x1b[13;2u"),
        ("alt+enter", b"\x1b\r", b"\x1b[13;3u"),
        ("shift+tab", b"\x1b[Z", b"\x1b[9;2u"),
        ("backspace", b"\x7f", b"\x7f"),
        ("up", b"\x1b[A", b"\x1b[A"),
        ("ctrl+left", b"\x1b[1;5D", b"\x1b[1;5D"),
        ("pagedown", b"\x1b[6~", b"\x1b[6~"),
        ("f1", b"\x1bOP", b"\x1bOP"),
        ("f5", b"\x1b[15~", b"\x1b[15~"),
    ],
)
def test_keys_are_sent_as_terminals_send_them(key: str, plain: bytes, kitty: bytes) -> None:
    assert (key_bytes(key), key_bytes(key, kitty=1)) == (plain, kitty)


def test_keys_with_more_of_the_kitty_protocol() -> None:
    assert key_bytes("ctrl+shift+p", kitty=1 | 4) == b"\x1b[112:80;6u"
    assert key_bytes("up", kitty=1 | 2) == b"\x1b[A\x1b[1;1:3A"
    assert key_bytes("a", kitty=1 | 8 | 16) == b"\x1b[97;;97u"


def test_cursor_keys_of_applications() -> None:
    assert key_bytes("up", modes={1}) == b"\x1bOA"
    assert key_bytes("ctrl+up", modes={1}) == b"\x1b[1;5A"


def test_pastes_are_bracketed_if_the_program_wants_it() -> None:
    assert (paste_bytes("a\nb", {2004}), paste_bytes("a\nb", ())) == (b"\x1b[200~a\rb\x1b[201~", b"a\rb")
