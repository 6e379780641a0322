"""`kaa mcp import`: what other agents' entries become."""

import json
from pathlib import Path

import pytest

from kaa.core.messages import Json
from tests.support.mcp_commands import McpCommands, entries


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpCommands:
    return McpCommands(tmp_path, monkeypatch)


def test_servers_of_every_agent_become_entries(commands: McpCommands) -> None:
    person = commands.person
    files = {
        ".claude.json": {"mcpServers": {"claude": {"type": "http", "url": "https://a.example", "timeout": 5000}}},
        ".gemini/settings.json": {"mcpServers": {"gemini": {"httpUrl": "https://b.example", "includeTools": ["x"]}}},
        ".cursor/mcp.json": {"mcpServers": {"cursor": {"command": "c", "args": ["${HOME}"]}}},
        ".config/Code/User/mcp.json": {"servers": {"vscode": {"command": "d"}}},
        ".config/opencode/opencode.json": {
            "mcp": {"opencode": {"type": "local", "command": ["e", "f"], "environment": {"A": "1"}}}
        },
    }
    for name, content in files.items():
        (person / name).parent.mkdir(parents=True, exist_ok=True)
        (person / name).write_text(json.dumps(content))
    (person / ".codex").mkdir()
    (person / ".codex" / "config.toml").write_text(
        '[mcp_servers.codex]\nurl = "https://g.example"\nbearer_token_env_var = "G_TOKEN"\ntool_timeout_sec = 9\n'
    )

    for agent in ("claude", "codex", "cursor", "gemini", "opencode", "vscode"):
        done = commands.run("import", agent, "--yes")
        assert done.code == 0, done.err

    assert entries(commands.home / "mcp.json") == {
        "claude": {"type": "http", "url": "https://a.example", "timeoutSeconds": 5.0},
        "codex": {
            "url": "https://g.example",
            "timeoutSeconds": 9,
            "headers": {"Authorization": "Bearer ${G_TOKEN}"},
        },
        "cursor": {"command": "c", "args": ["${HOME}"]},
        "gemini": {"url": "https://b.example", "type": "http", "tools": ["x"]},
        "opencode": {"type": "stdio", "command": "e", "args": ["f"], "env": {"A": "1"}},
        "vscode": {"command": "d"},
    }


def test_codex_says_times_and_approvals_in_its_own_way(commands: McpCommands) -> None:
    codex = commands.person / ".codex"
    codex.mkdir()
    (codex / "config.toml").write_text("""
        [mcp_servers.both]
        command = "a"
        startup_timeout_sec = 20.5
        startup_timeout_ms = 7
        env_vars = ["HOST", {name = "PORT", source = "local"}]
        supports_parallel_tool_calls = true
        [mcp_servers.both.tools.write]
        approval_mode = "approve"
        [mcp_servers.endless]
        url = "https://e.example"
        startup_timeout_ms = 1500
        tool_timeout_sec = inf
        enabled_tools = ["read"]
        scopes = ["one", "two"]
        [mcp_servers.none]
        command = "n"
        tool_timeout_sec = nan
    """)

    done = commands.run("import", "codex", "--yes")

    assert entries(commands.home / "mcp.json") == {
        "both": {
            "command": "a",
            "startupTimeoutSeconds": 20.5,
            "env": {"HOST": "${HOST}", "PORT": "${PORT}"},
        },
        "endless": {
            "url": "https://e.example",
            "startupTimeoutSeconds": 1.5,
            "timeoutSeconds": 86400,
            "tools": ["read"],
            "oauth": {"scope": "one two"},
        },
    }
    assert "`tool_timeout_sec` has no limit: kaa waits for a day" in done.out
    assert "`tools` is ignored: kaa asks as its own settings say" in done.out
    assert "MCP server none in" in done.err
    assert "`tool_timeout_sec` is nan, not a positive number" in done.err


def test_names_that_clash_are_told_apart(commands: McpCommands) -> None:
    def entry(key: str) -> dict[str, Json]:
        return {"url": "https://a.example", "headers": {"X-Key": key}}

    mine = {"mcpServers": {"my-lab": entry("sk-2"), "my lab": entry("sk-1")}}
    content = {"mcpServers": {"my_lab": entry("sk-1")}, "projects": {str(commands.project.resolve()): mine}}
    (commands.person / ".claude.json").write_text(json.dumps(content))

    done = commands.run("import", "claude", "--yes")
    again = commands.run("import", "claude", "--yes")

    assert (done.code, again.code) == (0, 0)
    assert {name: entry["headers"] for name, entry in entries(commands.home / "mcp.json").items()} == {
        "my_lab": {"X-Key": "${MY_LAB_X_KEY}"},
        "my-lab-2": {"X-Key": "${MY_LAB_2_X_KEY}"},
    }
    assert "'my-lab' is its name there" in done.out
    assert "MCP server my lab in" in done.err
    assert "another server with a name like this is the same" in done.err
    assert "has the server my-lab-2 already" in again.out


def test_a_name_that_is_taken_stays_as_it_is(commands: McpCommands) -> None:
    commands.run("add", "my-lab", "--", "mine")
    servers = {"my_lab": {"command": "theirs"}, "new": {"command": "new"}}
    (commands.person / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    done = commands.run("import", "claude", "--yes")

    assert done.code == 1
    assert "my_lab is left out" in done.err
    assert "another server my-lab. `kaa mcp remove my-lab` removes it" in done.err
    assert {name: entry["command"] for name, entry in entries(commands.home / "mcp.json").items()} == {
        "my-lab": "mine",
        "new": "new",
    }


@pytest.mark.parametrize(("agent", "file"), [("claude", ".claude.json"), ("codex", ".codex/config.toml")])
def test_a_file_in_utf_16_is_named_with_what_to_do(commands: McpCommands, agent: str, file: str) -> None:
    path = commands.person / file
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"mcpServers": {}}', "utf-16")

    done = commands.run("import", agent)

    assert (done.code, done.err) == (1, f"kaa: {path} cannot be read: it is UTF-16. Save it as UTF-8\n")


def test_secrets_are_not_copied(commands: McpCommands) -> None:
    entry = {
        "url": "https://a.example",
        "env": {"API_KEY": "sk-secret-1", "REGION": "eu"},
        "headers": {"Authorization": "Bearer sk-secret-2", "X-Custom": "Bearer sk-secret-3"},
    }
    (commands.person / ".claude.json").write_text(json.dumps({"mcpServers": {"a": entry}}))

    done = commands.run("import", "claude", "--yes")

    assert "sk-secret" not in done.out + done.err + (commands.home / "mcp.json").read_text()
    assert entries(commands.home / "mcp.json")["a"]["env"] == {"API_KEY": "${API_KEY}", "REGION": "eu"}
    assert "set the variable A_AUTHORIZATION to it" in done.out


def test_what_may_be_a_secret_is_named(commands: McpCommands) -> None:
    servers = {"a": {"command": "a", "args": ["--token", "x"]}, "b": {"url": "https://b.example/mcp?api_key=x"}}
    (commands.person / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    done = commands.run("import", "claude", "--yes")

    assert "`args` may have a secret, which is copied" in done.out
    assert "`url` may have a secret, which is copied" in done.out


def test_the_name_of_a_second_agent_is_answered_with_its_own_command(commands: McpCommands) -> None:
    (commands.person / ".claude.json").write_text(json.dumps({"mcpServers": {"a": {"command": "a"}}}))

    done = commands.run("import", "claude", "codex")

    assert done.code != 0
    assert "claude has no server codex that kaa can use" in done.err
    assert "run `kaa mcp import codex`" in done.err


def test_nothing_is_written_without_an_answer(commands: McpCommands) -> None:
    (commands.person / ".claude.json").write_text('{"mcpServers": {"a": {"command": "a"}}}')

    done = commands.run("import", "claude")

    assert done.code == 1
    assert not (commands.home / "mcp.json").exists()


def test_passwords_and_servers_of_one_project_are_named(commands: McpCommands) -> None:
    mine = {"mcpServers": {"here": {"command": "x"}, "closed": {"url": "https://me:secret@x.example/"}}}
    content = {"projects": {str(commands.project.resolve()): mine}}
    (commands.person / ".claude.json").write_text(json.dumps(content))

    done = commands.run("import", "claude", "-y")

    assert "only, kaa everywhere" in done.out
    assert "closed" in done.err
    assert "its URL has a password" in done.err
    assert "secret" not in done.out + done.err


def test_what_cannot_be_used_is_named(commands: McpCommands) -> None:
    servers = {"a": {"type": "ws", "url": "wss://x"}, "b": 5, "c": {"command": "c"}}
    (commands.person / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    done = commands.run("import", "claude", "--yes")

    assert "MCP server a in" in done.err
    assert "MCP server b in" in done.err
    assert list(entries(commands.home / "mcp.json")) == ["c"]


def test_no_other_agents_file_takes_a_server_out_of_the_sandbox(commands: McpCommands) -> None:
    servers = {"free": {"command": "x", "sandbox": False}}
    (commands.person / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    imported = commands.run("import", "claude", "-y")

    assert entries(commands.home / "mcp.json") == {"free": {"command": "x"}}
    assert "`sandbox` is ignored" in imported.out
