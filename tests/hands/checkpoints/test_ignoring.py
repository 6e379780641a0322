"""What .gitignore files leave out, as git itself says it."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kaa.hands.checkpoints.rules import IgnoreRules

_PATHS = ("a", "b.log", "a/b.log", "a/c", "a/b/c", "d/a", "d/b/a.log", "*", "[x]", "!a", "#a", "d/ x", "a b", "d/a.b")
_DEEP_PATHS = ("a/b/a/b/c", "abab/aab", "a/abb/x/ab.log", "ab/a/d/abcab")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def _ignored_by_git(repository: Path, text: str, paths: tuple[str, ...]) -> set[str]:
    (repository / ".gitignore").write_text(text)
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=repository,
        input="\0".join(paths),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.split("\0")) - {""}


def _ignored(rules: IgnoreRules, path: str) -> bool:
    """Whether a file, or a directory above it, is left out."""
    above = [path[:at] for at, character in enumerate(path) if character == "/"]
    return any(rules.ignores(each, directory=True) for each in above) or rules.ignores(path, directory=False)


# Behind a character that is no slash, git's answer depends on the addresses of pattern and path: wildmatch.c compares
# the two (`prev_p < text`, git 2.39).
_UNDEFINED = re.compile(r"[^/]\*\*+(?=/| *$)")
_PIECES = st.sampled_from(["a", "b", "c", "d", "x", "*", "**", "?", "/", ".", ".log", "[ab]", "[!a]", "\\*", " ", "#"])
_LINES = st.builds(
    lambda start, pieces, end: start + "".join(pieces) + end,
    st.sampled_from(["", "", "!", "/", "\\!", "\\#"]),
    st.lists(_PIECES, min_size=1, max_size=4),
    st.sampled_from(["", "", "/", " "]),
).filter(lambda line: not _UNDEFINED.search(line))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(_LINES, min_size=1, max_size=4))
@example(["a", "/**", "!a"])
@example(["/**/"])
def test_it_is_what_git_says(repository: Path, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"

    rules = IgnoreRules("", text)

    assert {path for path in _PATHS if _ignored(rules, path)} == _ignored_by_git(repository, text, _PATHS)


# Names only: git itself takes the `**` of `a**/b` for more than it says.
_WILD_NAMES = st.sampled_from(["a", "b", "*", "**", "a*b", "*b", "a*", "?*b", "*a*b"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.lists(_WILD_NAMES, min_size=1, max_size=6).map("/".join).filter(lambda line: line.count("*") < 5))
def test_several_wildcards_in_a_pattern_are_what_git_says(repository: Path, line: str) -> None:
    rules = IgnoreRules("", line + "\n")

    assert {path for path in _DEEP_PATHS if _ignored(rules, path)} == _ignored_by_git(
        repository, line + "\n", _DEEP_PATHS
    )


def test_rules_further_down_come_before_those_above() -> None:
    rules = IgnoreRules("sub", "!keep.log\n/only-here\n", IgnoreRules("", "*.log\n"))

    assert rules.ignores("sub/x.log", directory=False)
    assert not rules.ignores("sub/keep.log", directory=False)
    assert rules.ignores("sub/only-here", directory=False)
    assert not rules.ignores("sub/deeper/only-here", directory=False)


@pytest.mark.parametrize("text", ["*a*a*a*a*a*a*a*a*b\n", "[\n", "[z-a]\n", "\\\n", "x" * 100_000 + "\n", "a{99999}\n"])
def test_hostile_patterns_end_soon_and_leave_nothing_out(text: str) -> None:
    assert not IgnoreRules("", text).ignores("a" * 5_000, directory=False)


@pytest.mark.parametrize("text", ["a*a*a*a*b", "**/a/**/a/**/a/**/b", "*a/*a/*a/*a"])
def test_many_patterns_with_few_wildcards_end_soon(text: str) -> None:
    rules = IgnoreRules("", "".join(f"{text}{number}\n" for number in range(300)))
    paths = ["a" * 255, "/".join("a" * 200), "/".join(["a" * 255] * 8)]

    assert [path for path in paths * 2 if rules.ignores(path, directory=False)] == []
