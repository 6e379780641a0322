"""Rules: their syntax, what they allow and what they forbid."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.coverage import forbidden, permission
from kaa.shell.approvals.grammar import read
from kaa.shell.approvals.rules import Rule, RuleError, RuleMatch, parse_rule
from tests.support.tables import each

ROOT = "/home/me/Project"


def allowed(rule: str, command: str) -> bool:
    script = read(command)
    parsed = parse_rule(rule)
    return script.obstacle is None and all(parsed.allows_command(one, held=False) for one in script.commands)


def forbids(rule: str, command: str) -> RuleMatch:
    (one,) = read(command).commands
    return parse_rule(rule, deny=True).forbids_words(one.words)


@each(
    ("text", "rule"),
    [
        ("bash: git status", Rule("bash: git status", "bash", words=("git", "status"))),
        ("  bash:npm run *", Rule("bash:npm run *", "bash", words=("npm", "run"), open_ended=True)),
        ("bash: echo '*'", Rule("bash: echo '*'", "bash", words=("echo", "*"))),
        ("outside bash: docker ps", Rule("outside bash: docker ps", "bash", outside=True, words=("docker", "ps"))),
        (
            "outside bash: docker ps *",
            Rule("outside bash: docker ps *", "bash", outside=True, words=("docker", "ps"), open_ended=True),
        ),
        ("write: ./src/", Rule("write: ./src/", "write", pattern="src/**")),
        ("write: ./", Rule("write: ./", "write", pattern="**")),
        ("read", Rule("read", "read")),
        ("mytool", Rule("mytool", "mytool")),
        ("outside mytool", Rule("outside mytool", "mytool", outside=True)),
    ],
)
def test_rules_are_read_as_people_write_them(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@each(
    ("text", "deny", "expected"),
    [
        ("", False, "is no rule: write 'bash: git status'"),
        ("git status", False, "is no rule"),
        ("bash:", False, "the text after the colon is missing"),
        ("bash", False, "would allow every command"),
        ("bash: *", False, "would allow every command"),
        ("bash: git $x", False, "only words"),
        ("bash: git * push", False, "only words"),
        ("bash: git;ls", False, "only words"),
        ("bash: git >x", False, "only words"),
        ("write: ../x", False, "cannot hold '..'"),
        ("write: a[", False, r"\[ that is not closed"),
        ("mytool: x", False, "write 'mytool' alone"),
        ("outside bash: ls", True, "leave out 'outside'"),
        ("outside bash: git commit *", False, "write the exact command, without .*Commits need no rule"),
        ("outside bash: docker *", False, "further words of docker could disclose or overwrite any of your files"),
        ("outside bash: docker compose *", False, "write the exact command"),
        ("outside bash: ./docker ps *", False, "write the exact command"),
        ("outside bash: sh -c 'id' *", False, "write the exact command"),
        ("outside bash: date *", False, "write the exact command"),
    ],
)
def test_what_is_no_rule_is_refused_with_what_to_write(text: str, deny: bool, expected: str) -> None:
    with pytest.raises(RuleError, match=expected):
        parse_rule(text, deny=deny)


@given(st.text(max_size=40) | st.text(alphabet="bashwrite: *'\"\\~/{[", max_size=20), st.booleans())
def test_no_text_makes_reading_a_rule_fail_otherwise(text: str, deny: bool) -> None:
    with suppress(RuleError):
        assert parse_rule(text, deny=deny).text == text.strip()


@each(
    ("rule", "command", "expected"),
    [
        ("bash: git status", "git status", True),
        ("bash: git status", "git   'status'", True),
        ("bash: git status", "git status -s", False),
        ("bash: git status", "git", False),
        ("bash: git status", "/usr/bin/git status", False),
        ("bash: git status", "./git status", False),
        ("bash: npm run *", "npm run test -- --watch", True),
        ("bash: npm run *", "npm run", True),
        ("bash: npm run *", "npm exec evil", False),
        ("bash: npm *", "npmx", False),
        ("bash: make test", "make test", True),
        ("bash: echo 'a b'", "echo a\\ b", True),
        ("bash: sed -n 1,5p x", "sed -n 1,5p x", True),
        ("bash: sed *", "sed -n 1,5p x", False),
        ("bash: ls *", "ls -la >/dev/null 2>&1", True),
        ("bash: ls *", "ls -la > x", False),
        ("bash: ls *", "A=1 ls", False),
    ],
)
def test_a_rule_allows_exactly_its_words(rule: str, command: str, expected: bool) -> None:
    assert allowed(rule, command) is expected


@each(
    ("rule", "command", "expected"),
    [
        ("bash: rm", "rm x", RuleMatch.YES),
        ("bash: rm", "/bin/rm x", RuleMatch.YES),
        ("bash: rm", "RM x", RuleMatch.YES),
        ("bash: rm", "rmdir x", RuleMatch.NO),
        ("bash: rm", "$x y", RuleMatch.MAYBE),
        ("bash: git push --force", "git push origin main --force", RuleMatch.YES),
        ("bash: git push --force", "git push --force=x", RuleMatch.YES),
        ("bash: git push --force", "git push origin", RuleMatch.NO),
        ("bash: git push --force", "git push $x", RuleMatch.MAYBE),
        ("bash: git push", "git $x", RuleMatch.MAYBE),
        ("bash: git push", "git commit -m push", RuleMatch.NO),
        ("bash: git push", "git log push", RuleMatch.NO),
        ("bash: rm -rf", "rm -r -f x", RuleMatch.YES),
        ("bash: rm -rf", "rm x -fvr", RuleMatch.YES),
        ("bash: rm -rf", "rm -r x", RuleMatch.NO),
        ("bash: npm publish *", "npm publish", RuleMatch.YES),
        ("bash", "true", RuleMatch.YES),
    ],
)
def test_a_deny_rule_holds_for_more_than_its_words(rule: str, command: str, expected: RuleMatch) -> None:
    assert forbids(rule, command) is expected


@pytest.mark.parametrize("tool", ["mcp__s__read_file", "mcp__s__read_file_0123ab", "mcp__s__read_file_0123456789ab"])
def test_a_server_takes_no_tool_out_of_a_deny_rule_by_another_of_its_name(tool: str) -> None:
    rule = parse_rule("mcp__s__read_file", deny=True)

    assert forbidden(JudgedCall("1", tool, "outside", {}), [rule], ROOT) == (RuleMatch.YES, rule)


def test_an_allow_rule_holds_for_no_other_tool_of_the_same_name() -> None:
    rule = parse_rule("mcp__s__read_file")

    assert permission(JudgedCall("1", "mcp__s__read_file", "outside", {}), [rule], ROOT) is not None
    assert permission(JudgedCall("1", "mcp__s__read_file_0123ab", "outside", {}), [rule], ROOT) is None


@each(
    ("pattern", "path", "expected"),
    [
        ("src/**", f"{ROOT}/src/a/b.py", True),
        ("src/**", f"{ROOT}/lib/src/b.py", False),
        ("src/**", f"{ROOT}/srcs/b.py", False),
        ("*.md", f"{ROOT}/README.md", True),
        ("*.md", f"{ROOT}/docs/x.md", False),
        ("**/*.md", f"{ROOT}/docs/x.md", True),
        ("/etc/hosts", "/etc/hosts", True),
        ("/etc/hosts", f"{ROOT}/etc/hosts", False),
        ("src", f"{ROOT}/src/x", False),
    ],
)
def test_globs_start_at_the_project(pattern: str, path: str, expected: bool) -> None:
    assert parse_rule(f"write: {pattern}").matches_path(path, ROOT) is expected


def test_a_root_with_characters_of_globs_means_itself() -> None:
    assert parse_rule("write: a").matches_path("/x[1]{2}*/a", "/x[1]{2}*")
    assert not parse_rule("write: a").matches_path("/x1/a", "/x[1]{2}*")


def test_the_home_directory_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/Me")

    assert parse_rule("write: ~/notes/**").matches_path("/home/Me/notes/x", ROOT)
    assert parse_rule("write: ~/notes/**", deny=True).forbids_path("/home/me/NOTES/x", ROOT)


@pytest.mark.parametrize("path", ["secrets", "secrets/x", "Secrets/x", "secrets/a/b"])
def test_a_denied_directory_is_denied_with_all_in_it_and_in_any_case(path: str) -> None:
    assert parse_rule("read: secrets/**", deny=True).forbids_path(f"{ROOT}/{path}", ROOT)
    assert not parse_rule("read: secrets/**", deny=True).forbids_path(f"{ROOT}/other", ROOT)
    assert parse_rule("read: secrets", deny=True).forbids_path(f"{ROOT}/secrets/keys/a", ROOT)
    assert not parse_rule("read: secrets", deny=True).forbids_path(f"{ROOT}/secrets.txt", ROOT)
