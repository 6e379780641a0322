"""The profile as text: its effect can be judged on a Mac only."""

import re
from pathlib import Path
from typing import Any

import pytest

from kaa.hands.confinement.seatbelt import profile
from kaa.hands.policy import Policy


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / 'my "odd" (project)'
    path.mkdir()
    return path


def written(project: Path, **changes: Any) -> str:
    policy = Policy(
        "seatbelt", "workspace-write", (str(project),), temporary=str(project.parent), hidden=("/home/*/.ssh",)
    )
    return profile(policy._replace(**changes), "/home/me")


def denied(text: str, operation: str) -> list[re.Pattern[str]]:
    rules = re.findall(rf"\(deny {re.escape(operation)}\n((?:  .*\n?)+)", text)
    return [re.compile(pattern) for rule in rules for pattern in re.findall(r'#"((?:[^"\\]|\\.)*)"', rule)]


def matches(patterns: list[re.Pattern[str]], path: str) -> bool:
    quoted = path.replace('"', '\\"')
    return any(pattern.search(path) or pattern.search(quoted) for pattern in patterns)


def test_parentheses_are_closed(tmp_path: Path) -> None:
    text = re.sub(r'"(?:[^"\\]|\\.)*"', "", written(tmp_path, git_writable=True, shown=("/home/me/.ssh/known_hosts",)))

    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0


def test_secrets_are_denied_by_pattern(project: Path) -> None:
    patterns = denied(written(project), "file-read*")

    assert matches(patterns, "/home/me/.ssh")
    assert matches(patterns, "/home/me/.ssh/id")
    assert not matches(patterns, "/home/me/.sshx")
    assert not matches(patterns, "/home/me/work/.ssh")


@pytest.mark.parametrize("name", [".git/index", ".git", "a/b/.git/config", ".vscode/tasks.json", ".envrc"])
def test_protected_names_are_denied_also_before_they_exist(project: Path, name: str) -> None:
    assert matches(denied(written(project), "file-write*"), f"{project}/{name}")


@pytest.mark.parametrize(
    ("name", "is_denied"),
    [(".git/index", False), (".git/hooks/x", True), ("a/.git/config", True), (".git/modules/b/config", True)],
)
def test_allowed_git_keeps_what_it_obeys(project: Path, name: str, is_denied: bool) -> None:
    assert matches(denied(written(project, git_writable=True), "file-write*"), f"{project}/{name}") == is_denied


def test_network_is_loopback_only_unless_it_is_the_hosts(project: Path) -> None:
    assert "(deny network*)" in written(project)
    assert "network*" not in written(project, network="host")


def test_read_only_has_no_project(project: Path) -> None:
    assert str(project).replace('"', '\\"') not in written(project, mode="read-only", temporary="/private/tmp/x")
