"""Nothing that bash would run is overlooked."""

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kaa.shell.approvals.grammar import read
from tests.support.tables import each


def programs(command: str) -> list[str | None]:
    return [one.words[0] if one.words else "" for one in read(command).commands]


@each(
    ("command", "expected"),
    [
        ("a && b || c; d | e |& f & g", list("abcdefg")),
        ("a\nb", ["a", "b"]),
        ("(a; { b; })", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", list("abcde")),
        ("while a; do b; done; until c; do d; done", list("abcd")),
        ("for x in 1 2; do a; done", ["a"]),
        ("case $x in y) a;; *) b;; esac", ["a", "b"]),
        ("f() { a; }; f", ["a", "f"]),
        ("! a", ["a"]),
        ('echo $(a) `b` "$(c "$(d)")"', ["echo", "a", "b", "c", "d"]),
        ("diff <(a) >(b)", ["diff", "a", "b"]),
        ("cat <<E\n$(a)\nE\nb", ["cat", "a", "b"]),
        ("cat <<<$(a)", ["cat", "a"]),
        ("echo ${x:-$(a)} $((1 + $(b)))", ["echo", "a", "b"]),
        ("x=$(a) b", ["b", "a"]),
        ("x=$(a)", ["", "a"]),
        ("a >$(b)", ["a", "b"]),
        ("[[ -f $(a) ]] && b", ["[[", "a", "b"]),
        ("export X=$(a)", ["export", "a"]),
        (">x", [""]),
    ],
)
def test_every_simple_command_is_found_wherever_it_stands(command: str, expected: list[str]) -> None:
    assert Counter(programs(command)) == Counter(expected)
    assert read(command).understood


def test_words_assignments_and_redirections_of_a_command() -> None:
    (command,) = read("A=1 git 'log' \"$x\" >out 2>&1 -5").commands

    assert command.words == ("git", "log", None, "-5")
    assert command.assigns
    assert command.redirections == (">out",)
    assert command.literal_words is None


def test_a_redirection_holds_for_all_that_is_in_its_group() -> None:
    assert [one.redirections for one in read("(a; b) >x; c").commands] == [(">x",), (">x",), ()]


@pytest.mark.parametrize(
    "command", ["git log -5 2>&1 | head && (make; true)  # why", "if a b; then c; fi &", "a\n\nb\n"]
)
def test_plain_commands_can_be_allowed_by_rules(command: str) -> None:
    assert read(command).obstacle is None


@each(
    ("command", "obstacle"),
    [
        ("a $(b)", "a command substitution"),
        ("a `b`", "a command substitution"),
        ("a <(b)", "a process substitution"),
        ("a $x", "a variable"),
        ("X=1", "an assignment"),
        ("export X=1", "a declaration"),
        ("f() { a; }", "a function"),
        ("for x in 1; do a; done", "a loop"),
        ("cat <<E\nE", "a here-document"),
        ("cat <<<x", "a here-string"),
        ("[[ -f x ]]", "a test"),
        ("a $'\\x41'", "a word with escapes"),
        ("a {b,c}", "rules do not cover"),
        ("a {1..3}", "a brace expansion"),
        ("a *", "rules do not cover"),
        ("a ~", "rules do not cover"),
        ("a > x", "rules do not cover"),
        ("! { a; }", "rules do not cover"),  # the grammar takes { for a program here
        ("a\u00a0b", "rules do not cover"),
        ("a\vb", "rules do not cover"),
        ("a &&", "not understood"),
        ("a ;; b", "rules do not cover"),
        ("a 'b", "not understood"),
        ("a \\", "not understood"),
        ("if a; then b", "not understood"),
        ("a\0b", "NUL"),
        ("a \udc80", "characters"),
        ("a " * 20_000, "longer than"),
    ],
)
def test_whatever_is_not_plain_is_beyond_rules(command: str, obstacle: str) -> None:
    assert obstacle in (read(command).obstacle or "")


@pytest.mark.parametrize(
    "command", ["$(" * 3000 + ")" * 3000, "(" * 8000, "{ " * 5000, "a | " * 3000, "`[[ {<(' <<E" * 1200, "\\\n" * 8000]
)
def test_hostile_depth_and_length_are_survived(command: str) -> None:
    read(command)


@settings(max_examples=400, deadline=None)
@given(
    st.text(alphabet=st.characters(codec=None), max_size=80)
    | st.text(alphabet="ab $(){}[]`'\"\\;&|<>\n#!=~*/-0", max_size=60)
)
def test_no_text_makes_reading_fail(command: str) -> None:
    script = read(command)

    assert script.understood or script.obstacle is not None


# Fragments that fit together in ways that a person would not think of.
_USUAL = [
    *("aa", "bb", "cc", "'q q'", '"d d"', "\\;", "-x", "2>&1", ">/dev/null", "{}", "HEAD~1", " ", " ", " ", "\t", "\n"),
    *(" \\\n", "; ", "&", " | ", " && ", " || ", "(", ")", "{ ", "; }", "! ", " # c\n", "if ", "; then ", "; fi"),
]
_ODD = [
    *("\\\n", ";", "|", "|&", "&", "{", "}", "!", "#", "# c", "; else ", "while ", "until ", "; do ", "; done", "in"),
    *("case ", "esac", "time ", "'", '"', "\\", "$(aa)", "`bb`", "<<E\n", "E\n", "<<<", "<(", "a=", "aa()", "[[", "]]"),
    *("((", "))", ">", "<", "*", "~", "$x", "</dev/null", "if", "then", "fi", "coproc ", "function "),
]
_COMMANDS = st.lists(st.sampled_from(_USUAL * 4 + _ODD), min_size=1, max_size=14).map("".join)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


def run_by_bash(command: str, directory: Path) -> list[tuple[str, ...]]:
    """Every command that bash would run, with its words; none of them exists, so nothing happens."""
    with tempfile.TemporaryFile() as told:
        script = (
            f'command_not_found_handle() {{ printf "%s\\0" "$#" "$@" >&{told.fileno()}; return 1; }}\n'
            f"PATH=/nowhere; eval -- {_quoted(command)}"
        )
        bash = subprocess.Popen(
            ["/bin/bash", "--norc", "-c", script],
            cwd=directory,
            pass_fds=[told.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        with suppress(subprocess.TimeoutExpired):  # a loop without end has told what it runs by then
            bash.wait(timeout=0.5)
        with suppress(ProcessLookupError):
            os.killpg(bash.pid, signal.SIGKILL)
        bash.wait()
        told.seek(0)
        fields = told.read(50_000).split(b"\0")[:-1]
    commands = []
    while fields and len(fields) > int(fields[0]):
        count = 1 + int(fields[0])
        commands.append(tuple(field.decode() for field in fields[1:count]))
        fields = fields[count:]
    return commands


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(_COMMANDS)
def test_bash_runs_nothing_but_what_rules_were_shown(empty: Path, command: str) -> None:
    script = read(command)
    assume(script.obstacle is None)

    shown = {one.literal_words for one in script.commands}

    assert all(not one.assigns for one in script.commands)
    assert set(run_by_bash(command, empty)) <= shown, script
    assert list(empty.iterdir()) == []


def test_no_character_can_crash_the_grammar() -> None:
    # Code points beyond bytes made its scanner read memory of others; how that ended was a matter of luck.
    source = "import kaa.shell.approvals.grammar as g\n" + (
        "for n in range(400): g.read(chr(0x10ffff - n * 997) + '=1; \U000e0fff() { ${\U0010ffff}; }; <<\U0001f600')"
    )

    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0


def test_quoted_words_keep_what_is_not_ascii() -> None:
    (only,) = read("ls 'ä ö' \"ü\"").commands

    assert only.literal_words == ("ls", "ä ö", "ü")
