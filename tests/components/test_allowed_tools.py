"""What `allowed-tools` grants, in the words of kaa's rules."""

import pytest

from kaa.components.allowed_tools import grants_in
from kaa.shell.approvals.rules import RuleError, parse_grant
from tests.support.tables import each


@each(
    ("allowed", "rule"),
    [
        ("Bash(git status)", "bash: git status"),
        ("Bash(git status:*)", "bash: git status *"),
        ("Bash(git add *)", "bash: git add *"),
        ("bash(npm run test:unit)", "bash: npm run test:unit"),
        ("Edit", "write"),
        ("Write(docs/**/*.md)", "write: docs/**/*.md"),
    ],
)
def test_calls_that_a_rule_can_name_are_granted(allowed: str, rule: str) -> None:
    found = grants_in([allowed])

    assert found == ((rule,), ())
    assert parse_grant(rule).text == rule


@pytest.mark.parametrize("allowed", ["Read", "Grep", "Read(src/**)"])
def test_reading_needs_no_grant(allowed: str) -> None:
    assert grants_in([allowed]) == ((), ())


@each(
    "allowed",
    [
        *("Bash", "Bash(*)", "Bash(:*)", "Bash(git * main)", "Bash(git status*)", "Bash(git log; rm x)"),
        *("Bash(echo $HOME)", "Bash(a > b)", "Bash(ls\nrm x)", "Bash(git\trm)", "Bash(A B:*:*)", "Bash('a b')"),
        *(
            "Write(/etc/x)",
            "Write(../x)",
            "Edit(a/../../b)",
            "Write(a b)",
            "mcp__github__push",
            "WebFetch",
            "*",
            "Nope",
        ),
        *("outside Bash(ls)", "host: x"),
    ],
)
def test_all_else_is_named_and_not_granted(allowed: str) -> None:
    found = grants_in([allowed])

    assert found.rules == ()
    assert "are approved as all others are" in found.notes[0]


@each("rule", ["outside bash: docker ps", "mytool", "mcp__x__*", "host: x.org", "read: ~/x", "bash"])
def test_a_grant_is_for_commands_and_files_in_the_sandbox(rule: str) -> None:
    with pytest.raises(RuleError):
        parse_grant(rule)
