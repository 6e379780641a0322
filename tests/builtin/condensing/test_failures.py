"""What failed comes first in the long outputs of known programs; everything else stays as it is."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.condensing.failures import failures_in
from kaa.builtin.condensing.reporters import REPORTERS, of_command
from kaa.core.messages import Json
from kaa.ext.features import Features
from kaa.shell.conversation import Conversation
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandResult
from tests.support.agents import run
from tests.support.model_script import Answer, Call, say
from tests.support.stage import Stage
from tests.support.tables import each

_PYTEST = """\
=================================== FAILURES ===================================
___________________________________ test_bad ___________________________________

    def test_bad():
>       assert a["x"] == 2, "no"
E       AssertionError: no

test_a.py:6: AssertionError
----------------------------- Captured stdout call -----------------------------
said by the test
=========================== short test summary info ============================
FAILED test_a.py::test_bad - AssertionError: no
========================= 1 failed, 5 passed in 4.51s ==========================
"""
_UNITTEST = """\
======================================================================
FAIL: test_a (test_u.T.test_a)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_u.py", line 3, in test_a
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 3 tests in 0.001s
"""
_JEST = """\
FAIL t/a.test.js
  ● bad

    expect(received).toBe(expected) // Object.is equality

Test Suites: 1 failed, 1 total
Tests:       2 failed, 1 passed, 3 total
"""
_VITEST = """\
⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 \x1b[41m\x1b[1mFAIL \x1b[22m\x1b[49m v/a.test.mjs\x1b[2m > \x1b[22mbad
AssertionError: expected 1 to be 2 // Object.is equality

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
"""
_NODE = """\
ok 1 - ok
not ok 2 - bad
  ---
  error: '1 == 2'
  ...
# tests 2
# fail 1
"""
_GO = """\
--- FAIL: TestBad (0.00s)
    a_test.go:9: got 1, want 2
FAIL
FAIL\texample.com/a\t0.004s
"""
_CARGO = """\
---- tests::bad stdout ----
thread 'tests::bad' (12200) panicked at src/lib.rs:2:67:
assertion `left == right` failed

failures:
    tests::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored
"""
_RUSTC = """\
error[E0308]: mismatched types
 --> src/lib.rs:1:21
  |
1 | pub fn f() -> i32 { "a" }
  |               ---   ^^^ expected `i32`, found `&str`

   Compiling b v0.1.0
"""
_MAKE = """\
gcc -Wall -o a a.c
a.c:3:49: error: 'y' undeclared (first use in this function)
    3 | int main(){ return y; }
      |                    ^
a.c:3:17: warning: unused variable 'x' [-Wunused-variable]
make: *** [Makefile:2: a] Error 1
"""
_LINKER = """\
/usr/bin/ld: /tmp/b.o: in function `main':
b.c:(.text+0x5): undefined reference to `f'
"""
_TSC = "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n"
_MYPY = """\
m.py:2: error: Incompatible return value type (got "int", expected "str")  [return-value]
Found 1 error in 1 file (checked 1 source file)
"""
_RUFF = """\
F401 [*] `os` imported but unused
 --> m.py:4:8
  |
4 | import os
  |        ^^
help: Remove unused import: `os`

Found 1 error.
"""
_ESLINT = """\
/p/e.js
  2:5   error    'b' is not defined                      no-undef
  2:7   warning  Expected '===' and instead saw '=='     eqeqeq

✖ 2 problems (1 error, 1 warning)
"""
_MAVEN = """\
[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0 <<< FAILURE! - in AppTest
[ERROR] AppTest.bad:7 expected:<2> but was:<1>
[INFO] BUILD FAILURE
"""
_GRADLE = """\
> Task :test FAILED

AppTest > bad() FAILED
    org.opentest4j.AssertionFailedError at AppTest.java:7

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':test'.

BUILD FAILED in 2s
"""
_KNOWN = [
    (
        ".venv/bin/python -m pytest -q",
        _PYTEST,
        ["> assert", "E       AssertionError: no", "FAILED test_a.py::test_bad"],
    ),
    ("cd app && python manage.py test", _UNITTEST, ["FAIL: test_a", "AssertionError: 1 != 2"]),
    ("npx jest", _JEST, ["● bad", "expect(received)"]),
    ("npm test", _VITEST, ["FAIL  v/a.test.mjs > bad", "expected 1 to be 2"]),
    ("node --test", _NODE, ["not ok 2 - bad", "error: '1 == 2'"]),
    ("go test ./...", _GO, ["--- FAIL: TestBad", "got 1, want 2"]),
    ("cargo test", _CARGO, ["---- tests::bad stdout ----", "panicked at src/lib.rs:2:67"]),
    ("cargo build 2>&1", _RUSTC, ["error[E0308]: mismatched types", "expected `i32`"]),
    ("make -j4", _MAKE, ["a.c:3:49: error:", "return y", "make: *** [Makefile:2: a] Error 1"]),
    ("gcc b.c", _LINKER, ["undefined reference to `f'"]),
    ("npx tsc --noEmit", _TSC, ["error TS2322"]),
    ("mypy .", _MYPY, ["m.py:2: error: Incompatible"]),
    ("ruff check .", _RUFF, ["F401", "import os"]),
    ("npx eslint .", _ESLINT, ["/p/e.js", "'b' is not defined"]),
    ("./mvnw test", _MAVEN, ["AppTest.bad:7 expected:<2> but was:<1>"]),
    ("./gradlew test", _GRADLE, ["AppTest > bad() FAILED", "AssertionFailedError", "Execution failed for task"]),
]
_NOISE = "".join(f"noise {number} of the run that goes on\n" for number in range(3000))


class _Log(MemoryWorkspace):
    """One with the log of a command, and no more."""

    def __init__(self, output: bytes) -> None:
        super().__init__({"/output.log": output})


def failures(command: str, output: str | bytes, *, log_cut: bool = False, features: Features | None = None) -> str:
    """What is found in a long output; empty if nothing is."""
    data = output.encode() if isinstance(output, str) else output
    tail = data[-50 * 1024 :]
    result = CommandResult(1, None, tail, len(data), data.count(b"\n"), "/output.log", log_cut)
    context: Json = SimpleNamespace(workspace=_Log(data), features=features or Features())
    return run(failures_in(command, result, context)) or ""


@each(("command", "output", "shown"), _KNOWN)
def test_failures_of_known_programs_are_found(command: str, output: str, shown: list[str]) -> None:
    found = failures(command, _NOISE + output + _NOISE)

    lines = [line.strip() for line in found.splitlines()]
    for wanted in shown:
        assert any(" ".join(line.split()).startswith(" ".join(wanted.split())) or wanted in line for line in lines)
    assert found.startswith("[What failed (")
    assert found.endswith("\n[The end of the output:]")


@each(("command", "output", "shown"), _KNOWN)
def test_the_command_has_to_fit_too(command: str, output: str, shown: list[str]) -> None:
    assert failures("cat build.log", _NOISE + output + _NOISE) == ""


@each("command", [command for command, _, _ in _KNOWN])
def test_the_output_has_to_fit_too(command: str) -> None:
    assert failures(command, _NOISE) == ""


def test_every_reporter_has_a_command() -> None:
    known = {one.name for command, _, _ in _KNOWN for one in of_command(command)}

    assert known == {one.name for one in REPORTERS}


@each("command", ["cat pytest.log", "rg cargo", "ls node_modules", "echo pytest_x", "vim go.mod", "less gradlew.bat"])
def test_a_name_in_another_word_is_no_command(command: str) -> None:
    assert "pytest" not in [one.name for one in of_command(command)]


def test_what_passed_is_left_as_it_is() -> None:
    assert failures("pytest", _NOISE + "========================= 5 passed in 4.51s ==========================\n") == ""


def test_what_is_at_the_end_is_not_shown_twice() -> None:
    assert failures("pytest", _NOISE + _PYTEST) == ""


def test_a_failure_in_front_of_long_last_lines_is_shown() -> None:
    found = failures("pytest", _NOISE + _PYTEST + ("long " * 100 + "\n") * 30)

    assert "E       AssertionError: no" in found


def test_without_the_feature_nothing_is_looked_at() -> None:
    assert failures("pytest", _NOISE + _PYTEST + _NOISE, features=Features(condensed_output=False)) == ""


def test_the_first_failures_are_shown_and_the_others_counted() -> None:
    many = "".join(f"a.c:{number}:1: error: bad {number}\n" + "    code\n" * 10 for number in range(400))

    found = failures("make", _NOISE + many + _NOISE)

    assert "error: bad 0" in found
    assert "more in the full output):]" in found.splitlines()[0]
    assert len(found) < 16 * 1024


def test_of_a_long_failure_the_middle_is_left_out() -> None:
    block = "___________ test_bad ___________\n" + "".join(f"    line {number}\n" for number in range(500))
    output = block + "E       AssertionError\n========= 1 failed in 1s =========\n"

    found = failures("pytest", _NOISE + output + _NOISE)

    assert "[... " in found
    assert "test_bad" in found
    assert "E       AssertionError" in found
    assert len(found.splitlines()) < 50


def test_of_a_log_that_was_cut_the_end_comes_from_the_output() -> None:
    found = failures("pytest", _PYTEST + _NOISE * 40, log_cut=True)

    assert "E       AssertionError: no" in found


def test_failures_at_both_ends_of_a_huge_output_are_found() -> None:
    found = failures("make", _MAKE + _NOISE * 60 + _MAKE.replace("a.c", "z.c") + _NOISE)

    assert "a.c:3:49: error" in found
    assert "z.c:3:49: error" in found


def test_of_very_many_lines_only_those_at_both_ends_are_looked_at() -> None:
    blank = "\n" * 400_000

    assert "a.c:3:49: error" in failures("make", _MAKE + blank)
    assert failures("make", blank + _MAKE + blank) == ""


@pytest.mark.parametrize(
    "output",
    [
        b"x" * 10_000_000,
        b"=" * 10_000_000,
        b"_" * 5_000_000 + b" " + b"_" * 5_000_000,
        b"\x1b]" * 5_000_000,
        b"\x00\xff\r" * 3_000_000,
        b"a.c:1:1: error: \n" * 600_000,
        b"/" + b"a:" * 5_000_000,
        (b"=========== 1 failed in 1s ==========\n" + b"____ a ____\n" * 3) * 200_000,
        b"\n" * 10_000_000,
    ],
    ids=["one line", "rule", "header", "escapes", "control", "errors", "paths", "summaries", "blank"],
)
def test_hostile_outputs_stay_small(output: bytes) -> None:
    found = failures("make && pytest", output)

    assert len(found) < 20 * 1024
    assert "\x1b" not in found
    assert "\x00" not in found


@given(st.lists(st.sampled_from([part for _, output, _ in _KNOWN for part in output.splitlines()]), max_size=60))
def test_any_mixture_of_known_lines_is_bounded(lines: list[str]) -> None:
    found = failures("make", "\n".join(lines) + "\n" + "noise\n" * 100)

    assert len(found) < 20 * 1024
    assert not found or found.endswith("[The end of the output:]")


def test_a_command_gives_failures_then_its_end_and_the_file(stage: Stage) -> None:
    output = (_NOISE + _PYTEST + _NOISE + "the last line\n").encode()
    stage.files["/output.log"] = output
    tail = output[-50 * 1024 :]
    lines = output.count(b"\n")
    stage.commands = lambda _command: CommandResult(1, None, tail, len(output), lines, "/output.log")
    stage.server.begin([Answer(calls=(Call("bash", json.dumps({"command": "pytest"})),)), say("done")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("test")

    stage.play(scene)

    text = stage.server.requests[-1].json["messages"][-1]["content"]
    assert text.startswith("[What failed (pytest):]\n____")
    assert "FAILED test_a.py::test_bad" in text
    _, _, end = text.partition("[The end of the output:]\n")
    shown, note, status = end.split("\n\n")
    assert shown.splitlines()[-1] == "the last line"
    assert len(shown.splitlines()) == 60
    assert note == f"[Lines {lines - 59}-{lines} of {lines}. Full output: /output.log]"
    assert status == "Command exited with code 1"
    assert len(text) < 8_000
