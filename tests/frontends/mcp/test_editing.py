"""`kaa mcp add|add-json|remove|get`: what they write, and what they refuse."""

from pathlib import Path

import pytest

from kaa.core.messages import Json
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import Scope
from kaa.shell.mcp.config.file import server_in
from kaa.shell.mcp.server_data import data_folder
from tests.support.mcp_commands import McpCommands, entries


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpCommands:
    return McpCommands(tmp_path, monkeypatch)


def test_the_next_server_of_a_name_inherits_nothing(commands: McpCommands) -> None:
    data = commands.home / "mcp-data" / "a"
    for kept in (False, True):
        commands.run("add", "a", "--", "a")
        (data / "cache").mkdir(parents=True)
        if kept:
            (data / "memory.db").write_text("dear")

        done = commands.run("remove", "a")

        assert data.exists() == kept
        assert (f"its own files stay in {data}" in done.err) == kept
        assert not (data / "cache").exists()


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("code", [{}, {"/code.py": "digest"}])
def test_the_folders_of_a_server_are_removed_or_named(
    commands: McpCommands, scope: Scope, code: dict[str, str]
) -> None:
    option = ["--project"] if scope == "project" else []
    file = (commands.project / ".kaa" if option else commands.home) / "mcp.json"
    for kept in (False, True):
        commands.run("add", *option, "a", "--", "a")
        server = server_in(file, "a", scope)
        assert server is not None
        data = data_folder(Home(commands.home), server, str(commands.project), code)
        if kept:
            (data / "memory.db").write_text("dear")

        done = commands.run("remove", *option, "a")

        assert data.exists() == kept
        assert (f"its own files stay in {data}" in done.err) == kept


def test_comments_stay(commands: McpCommands) -> None:
    file = commands.home / "mcp.json"
    file.write_text('{\n  // mine\n  "mcpServers": {\n    "a": {"command": "a"} // the first\n  }\n}\n')

    commands.run("add", "b", "--", "b")
    commands.run("remove", "a")

    text = file.read_text()
    assert "// mine" in text
    assert "// the first" in text
    assert '"b"' in text
    assert '"a"' not in text


@pytest.mark.parametrize(
    ("arguments", "entry"),
    [
        (("add", "b", "npx", "-y", "server-b"), {"command": "npx", "args": ["-y", "server-b"]}),
        (("add", "-e", "K=v", "b", "npx", "-e"), {"command": "npx", "args": ["-e"], "env": {"K": "v"}}),
        (("add", "b", "--env", "K=v", "npx"), {"command": "npx", "env": {"K": "v"}}),
        (("add", "--transport", "http", "b", "https://x.example/"), {"url": "https://x.example/", "type": "http"}),
        (
            ("add", "-t", "sse", "-s", "user", "b", "https://x.example/"),
            {"url": "https://x.example/", "type": "sse"},
        ),
        (("add", "b", "--", "npx", "--", "-x"), {"command": "npx", "args": ["--", "-x"]}),
        (("add", "b", "https://x.example/", "-t", "http"), {"url": "https://x.example/", "type": "http"}),
        (("add", "b", "--url", "https://x.example/"), {"url": "https://x.example/"}),
        (("add", "b", "http://localhost:1/mcp"), {"url": "http://localhost:1/mcp"}),
        (("add", "b", "--host", "x.y", "b"), {"command": "b", "permissions": {"hosts": ["x.y"]}}),
        (
            ("add", "b", "--url", "https://x.example/", "--bearer-token-env-var", "KEY"),
            {"url": "https://x.example/", "headers": {"Authorization": "Bearer ${KEY}"}},
        ),
        (("add-json", "b", '{"type": "stdio", "command": "b"}'), {"type": "stdio", "command": "b"}),
    ],
)
def test_spellings_of_other_agents_work(
    commands: McpCommands, arguments: tuple[str, ...], entry: dict[str, Json]
) -> None:
    done = commands.run(*arguments)

    assert done.code == 0, done.err
    assert entries(commands.home / "mcp.json") == {"b": entry}
    assert "b: configured" in commands.run("get", "b").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("b",), "give the address of b, or the command that starts it"),
        (("-t", "sse", "b", "--", "b"), "b is no address"),
        (("-t", "stdio", "b", "https://x.example/"), "https://x.example/ is an address"),
        (("a", "--", "other"), "has a server a already: `kaa mcp remove a` removes it"),
        (("b b", "--", "b"), "its name must have 1 to 40 letters"),
        (("b", "https://x.example/mcp", "more"), "an address has no arguments: more"),
        (("b", "-e", "x", "--", "b"), "--env 'x' is not NAME=VALUE"),
        (("b", "-e", "A=B", "https://x.example/mcp"), "--env A=B is for a command"),
        (("b", "-H", "A: B", "--", "b"), "a header is for an address: b is a command"),
        (("b", "http://x.example/mcp"), "http://x.example/mcp has no encryption"),
        (("b", "x.example/mcp"), "write https://x.example/mcp if it is an address"),
        (("b", "--host", "h.example", "https://x.example/"), "--host is for a command"),
    ],
)
def test_what_cannot_be_added_changes_nothing(commands: McpCommands, arguments: tuple[str, ...], said: str) -> None:
    file = commands.home / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "a"}}}')

    done = commands.run("add", *arguments)

    assert done.code == 2
    assert said in done.err
    assert entries(file) == {"a": {"command": "a"}}


def test_a_broken_file_is_not_touched(commands: McpCommands) -> None:
    file = commands.home / "mcp.json"
    file.write_text('{"mcpServers": {')

    done = commands.run("add", "a", "--", "a")

    assert done.code != 0
    assert "mcp.json" in done.err
    assert file.read_text() == '{"mcpServers": {'


def test_a_server_in_another_file_is_named_where_it_is(commands: McpCommands) -> None:
    commands.run("add", "a", "--", "a")

    done = commands.run("remove", "--project", "a")

    assert done.code == 2
    assert f"has no server 'a'. It is in {commands.home / 'mcp.json'}" in done.err


def test_a_link_in_a_project_is_not_followed(commands: McpCommands) -> None:
    target = commands.home.parent / "target.json"
    target.write_text("{}")
    (commands.project / ".kaa").mkdir()
    (commands.project / ".kaa" / "mcp.json").symlink_to(target)

    done = commands.run("add", "--project", "a", "--", "a")

    assert done.code == 1
    assert "is a link" in done.err
    assert target.read_text() == "{}"


def test_a_server_without_a_sandbox_is_said_to_have_the_users_rights(commands: McpCommands) -> None:
    free = '{"command": "x", "sandbox": false}'
    warning = "whatever it loads, also from a project, runs with your rights"

    assert warning in commands.run("add-json", "free", free).out
    assert warning not in commands.run("add", "confined", "--", "x").out
    listed = commands.run("list").out
    assert listed.count(warning) == 1
    assert listed.index("free: ") < listed.index(warning) < listed.index("confined: ")
    assert warning in commands.run("approve", "free").out
    # A project cannot have such a server.
    assert warning not in commands.run("add-json", "--project", "theirs", free).out
