"""What Claude Code's settings forbid, as kaa's rules: never less, and what no rule can say is named."""

from kaa.components.denied_tools import denials_in
from kaa.shell.approvals.rules import parse_rule
from tests.support.tables import each


@each(
    ("denied", "rule"),
    [
        ("Bash(curl:*)", "bash: curl"),
        ("Bash(git push *)", "bash: git push"),
        ("Bash(git push:*)", "bash: git push"),
        ("Bash(npm run a:b)", "bash: npm run a:b"),
        ("Bash(rm -rf)", "bash: rm -rf"),
        ("Bash", "bash"),
        ("Bash(*)", "bash"),
        ("Bash(:*)", "bash"),
        ("WebFetch(*)", "web_fetch"),
        ("Read(./.env)", "read: .env"),
        ("Read(.env)", "read: **/.env"),
        ("Read(./secrets/**)", "read: secrets/**"),
        ("Read(~/.aws/**)", "read: ~/.aws/**"),
        ("Read(//etc/passwd)", "read: /etc/passwd"),
        ("Edit(src/gen/**)", "write: src/gen/**"),
        ("Write", "write"),
        ("WebFetch", "web_fetch"),
        ("WebFetch(domain:example.com)", "host: example.com"),
        ("mcp__github", "mcp__github__*"),
        ("mcp__github__push", "mcp__github__push"),
    ],
)
def test_a_pattern_becomes_a_rule(denied: str, rule: str) -> None:
    assert denials_in([denied], lambda _: True) == ((rule,), (), ())
    assert parse_rule(rule, deny=True).text == rule


@each(
    "denied",
    ["WebSearch", "Read(../x)", "Bash(a && b)", "Bash($X)", "Task(Explore)", "*", "Read({a,b})"],
)
def test_what_no_rule_can_say_is_left(denied: str) -> None:
    assert denials_in([denied], lambda _: True) == ((), (denied,), ())


def test_a_slash_is_the_root_of_the_project_and_what_looks_absolute_is_named() -> None:
    assert denials_in(["Read(/secrets/**)", "Edit(/etc/hosts)", "Read(//home/**)"], lambda _: True) == (
        ("read: secrets/**", "write: etc/hosts", "read: /home/**"),
        (),
        ("Edit(/etc/hosts)",),
    )


def test_a_rule_that_kaa_cannot_obey_is_left_over() -> None:
    assert denials_in(["Bash(rm:*)", "WebFetch(domain:*.ru)"], lambda rule: "*" not in rule) == (
        ("bash: rm",),
        ("WebFetch(domain:*.ru)",),
        (),
    )
