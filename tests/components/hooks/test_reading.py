"""Definitions of hooks in three dialects: what is understood, in which units, and what is named."""

import json
from typing import Any

import pytest

from kaa.components.hooks import HookDefinition, HookDialect, HookFile
from kaa.components.hooks.files import HookFileError, hook_file, hooks_part
from kaa.components.hooks.matching import fulfils, matches
from kaa.components.hooks.reading import MAX_HOOKS, hooks_in
from tests.support.tables import each


def read(part: object, dialect: HookDialect = "claude") -> HookFile:
    return hooks_in(part, dialect, "settings.json", of_project=False)


def one(event: str, matcher: str = "", dialect: HookDialect = "claude", **handler: Any) -> HookDefinition:
    entry = {"type": "command", "command": "true", **handler}
    (hook,) = read({event: [{"matcher": matcher, "hooks": [entry]}]}, dialect).hooks
    return hook


def test_timeouts_have_the_unit_of_their_dialect() -> None:
    assert one("PreToolUse", timeout=5).timeout == 5
    assert one("BeforeTool", dialect="gemini", timeout=5000).timeout == 5
    assert one("PreToolUse", timeout=-1).timeout is None


@pytest.mark.parametrize(("value", "blocks"), [("block", True), ("continue", False), ("stop", False), (None, False)])
def test_failures_block_where_the_hook_says_so(value: str | None, blocks: bool) -> None:
    tool: dict[str, Any] = {"type": "mcp_tool", "server": "s", "tool": "t", "onFailure": value}

    assert one("PreToolUse", onFailure=value).blocks_on_failure is blocks
    assert one("PreToolUse", **tool).blocks_on_failure is (blocks or value == "stop")


def test_events_of_gemini_have_a_twin() -> None:
    hook = one("BeforeTool", dialect="gemini")

    assert (hook.event, hook.named_event) == ("PreToolUse", "BeforeTool")
    assert read({"BeforeModel": []}, "gemini").notes == ("kaa has no event 'BeforeModel': its hooks do not run",)


@each(
    "part",
    [
        None,
        [],
        {"PreToolUse": {}},
        {"PreToolUse": [{"hooks": "x"}, 1]},
        {"PreToolUse": [{"matcher": 1, "hooks": []}]},
        {"PreToolUse": [{"matcher": "(", "hooks": [{"command": "x"}]}]},
        {"PreToolUse": [{"matcher": "(a+)+$", "hooks": [{"command": "x"}]}]},
        {"PreToolUse": [{"hooks": [{"type": "command"}, {"type": []}, {"type": "magic"}]}]},
        {"PreToolUse": [{"hooks": [{"command": "x", "args": "y"}]}]},
    ],
)
def test_what_is_not_understood_is_named(part: object) -> None:
    found = read(part)

    assert found.hooks == ()
    assert found.notes


def test_names_of_a_file_reach_nobodys_terminal_as_they_are() -> None:
    assert "\x1b" not in "".join(read({"\x1b[2J": [], "PreToolUse": [{"hooks": [{"type": "\x1b[2J"}]}]}).notes)


def test_there_is_a_most_number_of_hooks() -> None:
    found = read({"Stop": [{"hooks": [{"command": "x"}] * (MAX_HOOKS + 1)}]})

    assert len(found.hooks) == MAX_HOOKS
    assert f"only the first {MAX_HOOKS} hooks are used" in found.notes


@pytest.mark.parametrize(("dialect", "given"), [("claude", 10**400), ("gemini", 10**400), ("claude", 1e308)])
def test_no_time_is_longer_than_an_hour(dialect: HookDialect, given: float) -> None:
    part = {"BeforeTool" if dialect == "gemini" else "Stop": [{"hooks": [{"command": "x", "timeout": given}]}]}

    assert read(part, dialect).hooks[0].timeout == 3600


def test_a_matcher_that_can_take_very_long_is_left_out() -> None:
    slow = "(.*.*.*.*|a)(.*.*.*.*|a)(.*.*.*.*|a).*.*.*.*!"

    found = read({"PreToolUse": [{"matcher": slow, "hooks": [{"command": "x"}]}]})

    assert found.hooks == ()
    assert "take too long" in found.notes[0]


def test_a_matcher_makes_no_line_of_its_own() -> None:
    found = read({"PreToolUse": [{"matcher": "Edit: x\n  Write", "hooks": [{"command": "x"}]}]})

    assert not any("\n" in hook.matcher for hook in found.hooks)


def test_codex_and_gemini_have_commands_only() -> None:
    part = {"Stop": [{"hooks": [{"type": "prompt", "prompt": "Is it done?"}]}]}

    assert read(part).hooks[0].prompt == "Is it done?"
    assert read(part, "codex").hooks == ()


class TestFiles:
    def test_only_the_part_about_hooks_counts(self) -> None:
        hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
        one, other = ({"model": model, "hooks": hooks} for model in ("a", "b"))

        assert hooks_part(json.dumps(one).encode()) == hooks_part(json.dumps(other).encode())
        assert hooks_part(b'{"model": "a", "hooks": {}}') is None

    def test_comments_and_toml(self) -> None:
        assert hooks_part(b'// mine\n{"hooks": {"Stop": [] /* http://x */}}') is not None
        part = hooks_part(b'[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"\n', toml=True)
        assert part is not None
        assert hook_file(part, "codex", "config.toml", of_project=False).hooks[0].command == "true"

    @pytest.mark.parametrize(
        "data",
        [
            b"{" + b"/* " * 300_000,
            b"{" + b'"' * 300_001,
            b'{"' + b'\\"' * 300_000,
            b"{",
            b"[]",
            b"[" * 100_000,
            b"\xff",
        ],
    )
    def test_what_is_no_file_of_settings_is_an_error(self, data: bytes) -> None:
        with pytest.raises(HookFileError):
            hooks_part(data)

    def test_a_file_can_switch_its_hooks_off(self) -> None:
        part = hooks_part(b'{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}')

        assert part is not None
        assert hook_file(part, "claude", "x", of_project=True).hooks == ()


class TestMatchers:
    @each(
        ("matcher", "name", "expected"),
        [
            ("", "Bash", True),
            ("*", "Bash", True),
            ("Bash", "Bash", True),
            ("Bash", "BashOutput", False),
            ("Edit|Write", "Write", True),
            ("Edit, Write", "Write", True),
            ("mcp__mem__", "mcp__mem__add", False),
            ("mcp__mem__.*", "mcp__mem__add", True),
            ("^Notebook", "NotebookEdit", True),
            ("Edit.*", "NotebookEdit", True),
        ],
    )
    def test_of_claude(self, matcher: str, name: str, expected: bool) -> None:
        assert matches(one("PreToolUse", matcher), [name]) is expected

    def test_of_codex_match_the_aliases_of_apply_patch(self) -> None:
        assert matches(one("PreToolUse", "Edit|Write", "codex"), ["apply_patch", "Edit", "Write"])
        assert matches(one("PreToolUse", "^apply_patch$", "codex"), ["apply_patch", "Edit", "Write"])

    def test_of_gemini_are_expressions_for_tools_and_names_for_all_else(self) -> None:
        assert matches(one("BeforeTool", "write", "gemini"), ["write_file"])
        assert not matches(one("SessionStart", "start", "gemini"), ["startup"])

    @each(
        ("rule", "command", "expected"),
        [
            ("Bash(git *)", "git push", True),
            ("Bash(git *)", "cd x && git push", True),
            ("Bash(git:*)", "git", True),
            ("Bash(git *)", "gitk", False),
            ("Bash(rm -rf *)", "ls", False),
            ("Edit(*.py)", "ls", False),
            ("not a rule!", "ls", True),
        ],
    )
    def test_conditions_of_commands(self, rule: str, command: str, expected: bool) -> None:
        assert fulfils(rule, ["Bash"], {"command": command}) is expected

    def test_conditions_of_files(self) -> None:
        assert fulfils("Edit(*.py)", ["Edit"], {"file_path": "/p/a.py"})
        assert not fulfils("Edit(*.py)", ["Edit"], {"file_path": "/p/a.txt"})
