"""Names of tools of other agents: what they mean in kaa, and back."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from kaa.components.tool_names import OWN_TOOLS, ToolDialect, ToolPattern, foreign_names, meant_tool, own_patterns
from tests.support.tables import each

DIALECTS: tuple[ToolDialect, ...] = get_args(ToolDialect)


@each(
    ("dialect", "text", "tools"),
    [
        ("claude", "Glob", ["find"]),
        ("claude", "read", ["read"]),
        ("claude", "KillShell", ["process"]),
        ("claude", "mcp__github", ["mcp__github__*"]),
        ("claude", "mcp__github__search", ["mcp__github__search"]),
        ("claude", "WebSearch", []),
        ("codex", "apply_patch", ["write", "edit"]),
        ("cursor", "Shell", ["bash"]),
        ("droid", "read-only", ["read", "find", "grep", "ls"]),
        ("droid", "edit", ["write", "edit"]),
        ("gemini", "run_shell_command", ["bash"]),
        ("gemini", "mcp_*", ["mcp__*"]),
        ("gemini", "mcp_github_*", ["mcp__github__*"]),
        ("gemini", "mcp_github_search_code", ["mcp__github__search_code"]),
        ("gemini", "Read", ["read"]),
        ("opencode", "edit", ["write", "edit"]),
        ("opencode", "github_*", ["mcp__github__*"]),
        ("pi", "find", ["find"]),
        ("pi", "web_fetch", ["web_fetch"]),
        ("kaa", "*", ["*"]),
        ("kaa", "r m", []),
        ("kaa", "x" * 300, []),
    ],
)
def test_a_name_means_tools_of_kaa(dialect: ToolDialect, text: str, tools: list[str]) -> None:
    assert [pattern.tool for pattern in own_patterns(text, dialect)] == tools


def test_a_pattern_keeps_what_it_is_about() -> None:
    assert own_patterns("Bash(git log (all) *)", "claude") == (ToolPattern("bash", "git log (all) *"),)
    assert own_patterns("Agent(a:b, c)", "claude") == (ToolPattern("agent", "a:b, c"),)


@each("dialect", DIALECTS)
def test_each_foreign_name_leads_back(dialect: ToolDialect) -> None:
    for tool in OWN_TOOLS:
        names = foreign_names(tool, dialect)

        assert all(tool in [pattern.tool for pattern in own_patterns(name, dialect)] for name in names)


def test_what_others_do_not_have_keeps_its_name() -> None:
    assert foreign_names("mcp__github__search", "claude") == ("mcp__github__search",)
    assert foreign_names("grep", "gemini") == ("search_file_content", "grep_search")


@given(st.text(), st.sampled_from(DIALECTS))
def test_any_text_is_a_tool_or_nothing(text: str, dialect: ToolDialect) -> None:
    for pattern in own_patterns(text, dialect):
        assert pattern.tool in OWN_TOOLS or pattern.tool == "*" or pattern.tool.startswith("mcp__")


@each(
    ("name", "tool"),
    [
        ("Bash", "bash"),
        ("BASH", "bash"),
        ("read_file", "read"),
        ("shell", "bash"),
        ("execute_command", "bash"),
        ("functions.bash:0", "bash"),
        ("functions.run_shell_command", "bash"),
        ("bash<|channel|>commentary", "bash"),
        ("replace", "edit"),
        ("str_replace", "edit"),
        ("apply_patch", "apply_patch"),  # the model has none, and it may mean write or edit
        ("Grep", "Grep"),  # no tool of this model
        ("rm", "rm"),
        ("", ""),
    ],
)
def test_models_that_use_names_of_other_agents_are_understood(name: str, tool: str) -> None:
    assert meant_tool(name, {"read", "bash", "edit", "write"}) == tool


def test_no_name_means_a_tool_that_the_model_has_not() -> None:
    assert meant_tool("Bash", {"read", "bash_of_a_server"}) == "Bash"
