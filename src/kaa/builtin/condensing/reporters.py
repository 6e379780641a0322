"""Programs that say in a known form what failed: how their commands and their outputs look.

Every pattern is tried on the beginning of one line. None has a repetition within a repetition, so that a hostile line
costs no more than its length.
"""

import re
from typing import Final

import msgspec


class Reporter(msgspec.Struct, frozen=True):
    """A program that reports failures.

    Attributes:
        words: of its command, as a pattern.
        says: a line that only this program writes, whatever the outcome.
        begins: the first line of a failure.
        ends: the first line behind a failure; it may begin the next one.
        summary: lines that name failures in short, and are kept if there is room.
    """

    name: str
    words: str
    says: str
    begins: str
    ends: str
    summary: str = r"(?!)"


# Programs that run others: what they ran, only the output says.
_RUNNERS: Final = r"g?make|just|task|npm|npx|pnpm|yarn|bun|tox|nox|uv|uvx|poetry|pdm|hatch|bazel|sh|bash|\S*\.sh"
_AT: Final = r"[^\s:()][^:()\n]{0,200}"  # a path, in front of a line number

REPORTERS: Final = (
    Reporter(
        "pytest",
        r"py\.?test",
        says=r"=+ .*\b(?:passed|failed|errors?|no tests ran)\b.* in [\d.:]+",
        begins=r"_{3,} .+ _{3,}$",
        ends=r"_{3,} .+ _{3,}$|={3,} .* ={3,}$",
        summary=r"(?:FAILED|ERROR) \S",
    ),
    Reporter(
        "unittest",
        r"unittest|manage\.py",
        says=r"Ran \d+ tests? in ",
        begins=r"(?:FAIL|ERROR): \S",
        ends=r"={20,}$|Ran \d+ tests? in ",
    ),
    Reporter(
        "jest",
        r"jest|react-scripts",
        says=r"Tests: .* total",
        begins=r"\s*● ",
        ends=r"\s*● |Test Suites: |(?:PASS|FAIL) ",
    ),
    Reporter(
        "vitest", r"vitest", says=r"\s*(?:Test Files|Tests)  .*\(\d+\)", begins=r"\s*FAIL  ", ends=r"⎯{4,}|\s*FAIL  "
    ),
    Reporter(
        "node --test",
        r"node",
        says=r"(?:\u2139|#) (?:tests|pass|fail) \d+",
        begins=r"\s*(?:✖|not ok) ",
        ends=r"\s*(?:✔|✖|▶|\u2139|#|ok|not ok)\s",
    ),
    Reporter(
        "go",
        r"go",
        says=r"(?:FAIL|ok)\s+\S|--- (?:FAIL|PASS): |# \S+$",
        begins=rf"\s*--- FAIL: |panic: |{_AT}\.go:\d+:\d+: ",
        ends=rf"\s*--- |=== |(?:FAIL|ok|PASS)\b|{_AT}\.go:\d+:\d+: ",
        summary=r"FAIL\s+\S",
    ),
    Reporter(
        "cargo",
        r"cargo|rustc",
        says=r"test result: |error(?:\[E\d+\])?: |\s*(?:Compiling|Finished) ",
        begins=r"error(?:\[E\d+\])?: |---- .+ ----$",
        ends=r"(?:error|warning)(?:\[\w+\])?: |---- .+ ----$|failures:$|test result: |\s*(?:Compiling|Running) ",
        summary=r"test .* FAILED$",
    ),
    Reporter(
        "compiler",
        r"gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|cmake|ninja|meson|javac",
        says=rf"{_AT}:\d+(?::\d+)?: (?:fatal )?error: |.*undefined reference to |make(?:\[\d+\])?: \*\*\* ",
        begins=rf"{_AT}:\d+(?::\d+)?: (?:fatal )?error: |.*undefined reference to |(?:make|ninja)\S*: \*\*\* ",
        ends=rf"{_AT}:(?:\d+:|\s)|(?:make|ninja)\b|\[",
    ),
    Reporter(
        "tsc",
        r"tsc|vue-tsc",
        says=r".*\berror TS\d+: ",
        begins=rf"{_AT}(?:\(\d+,\d+\):|:\d+:\d+ -) error TS\d+: ",
        ends=r"\S",
        summary=r"Found \d+ errors?",
    ),
    Reporter(
        "mypy",
        r"d?mypy",
        says=r"Found \d+ errors? in |Success: no issues found",
        begins=rf"{_AT}:\d+(?::\d+)?: error: ",
        ends=r"\S",
    ),
    Reporter(
        "ruff",
        r"ruff|flake8",
        says=r"Found \d+ errors?|All checks passed",
        begins=rf"{_AT}:\d+:\d+: [A-Z]+\d+ |[A-Z]+\d{{3,4}} ",
        ends=rf"{_AT}:\d+:\d+: |[A-Z]+\d{{3,4}} |Found \d+",
    ),
    Reporter(
        "eslint",
        r"eslint",
        says=r"✖ \d+ problems?",
        begins=r"/\S+$|\s+\d+:\d+\s+error\s",
        ends=r"/\S+$|\s+\d+:\d+\s|✖ |$",
    ),
    Reporter(
        "maven",
        r"mvnw?",
        says=r"\[(?:INFO|ERROR)\] (?:BUILD |Tests run: )",
        begins=r"\[ERROR\] \S",
        ends=r"\[\w+\]",
    ),
    Reporter(
        "gradle",
        r"gradlew?",
        says=r"BUILD (?:SUCCESSFUL|FAILED) in ",
        begins=rf"> Task \S+ FAILED$|\S.* > .* FAILED$|e: |{_AT}:\d+: error: |FAILURE: |\* What went wrong:",
        ends=r"> Task |BUILD |\* (?:Try|Exception)|\S.* > .* (?:PASSED|FAILED)$",
    ),
)


def of_command(command: str) -> list[Reporter]:
    """Those that a command may run."""
    named = [one for one in REPORTERS if _runs(command, one.words)]
    return named or (list(REPORTERS) if _runs(command, _RUNNERS) else [])


def _runs(command: str, words: str) -> bool:
    return re.search(rf"(?<![\w.-])(?:{words})(?![^\s;&|)])", command) is not None
