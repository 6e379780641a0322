"""`kaa mcp list|add|remove|approve|test|import`, as a person runs them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa
from tests.support import mcp_server
from tests.support.elsewhere import folder_elsewhere
from tests.support.mcp_http import McpHttpServer
from tests.support.mcp_server import ScriptedServer
from tests.support.trusting import trust


@pytest.fixture
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: a server in a sandbox sees nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        (folder / "person").mkdir()
        kaa.setenv(HOME=str(folder / "person"))
        yield kaa


def scripted(kaa: Kaa, **script: object) -> list[str]:
    """The command of a scripted server."""
    folder = kaa.home.parent / "server"
    folder.mkdir(exist_ok=True)
    (folder / "script.json").write_text(json.dumps(script))
    (folder / "server.py").write_text(Path(mcp_server.__file__).read_text())
    return [sys.executable, str(folder / "server.py"), str(folder / "script.json")]


def entries(file: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(file.read_text())["mcpServers"]
    return found


class TestEditing:
    def test_a_program_and_an_address_are_added_and_listed(self, kaa: Kaa) -> None:
        program = kaa.run("mcp", "add", "files", "-e", "ROOT=${HOME}", "--", "npx", "-y", "server-files", "--all")
        address = kaa.run("mcp", "add", "-H", "X-Team: blue", "remote", "https://mcp.example.com/mcp")
        listed = kaa.run("mcp", "list")

        assert (program.code, address.code) == (0, 0), program.err + address.err
        assert entries(kaa.home / "mcp.json") == {
            "files": {"command": "npx", "args": ["-y", "server-files", "--all"], "env": {"ROOT": "${HOME}"}},
            "remote": {"url": "https://mcp.example.com/mcp", "headers": {"X-Team": "blue"}},
        }
        assert "files: configured\n  npx -y server-files --all\n" in listed.out
        assert "remote: configured\n  https://mcp.example.com/mcp\n" in listed.out

    def test_the_next_server_of_a_name_inherits_nothing(self, kaa: Kaa) -> None:
        data = kaa.home / "mcp-data" / "a"
        for kept in (False, True):
            kaa.run("mcp", "add", "a", "--", "a")
            (data / "cache").mkdir(parents=True)
            if kept:
                (data / "memory.db").write_text("dear")

            done = kaa.run("mcp", "remove", "a")

            assert data.exists() == kept
            assert (f"its own files stay in {data}" in done.err) == kept
            assert not (data / "cache").exists()

    def test_comments_stay(self, kaa: Kaa) -> None:
        file = kaa.home / "mcp.json"
        file.write_text('{\n  // mine\n  "mcpServers": {\n    "a": {"command": "a"} // the first\n  }\n}\n')

        kaa.run("mcp", "add", "b", "--", "b")
        kaa.run("mcp", "remove", "a")

        text = file.read_text()
        assert "// mine" in text
        assert "// the first" in text
        assert '"b"' in text
        assert '"a"' not in text

    def test_what_a_removed_server_offered_is_forgotten(self, kaa: Kaa) -> None:
        command = scripted(kaa, tools=[{"name": "echo", "inputSchema": {}}])
        kaa.run("mcp", "add", "own", "--", *command)
        kaa.run("mcp", "test", "own")
        known = kaa.run("mcp", "list")

        kaa.run("mcp", "remove", "own")
        kaa.run("mcp", "add", "own", "--", *command)

        assert "own: known" in known.out
        assert "own: configured" in kaa.run("mcp", "list").out

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
    def test_spellings_of_other_agents_work(self, kaa: Kaa, arguments: tuple[str, ...], entry: dict[str, Json]) -> None:
        done = kaa.run("mcp", *arguments)

        assert done.code == 0, done.err
        assert entries(kaa.home / "mcp.json") == {"b": entry}
        assert "b: configured" in kaa.run("mcp", "get", "b").out

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
    def test_what_cannot_be_added_changes_nothing(self, kaa: Kaa, arguments: tuple[str, ...], said: str) -> None:
        file = kaa.home / "mcp.json"
        file.write_text('{"mcpServers": {"a": {"command": "a"}}}')

        done = kaa.run("mcp", "add", *arguments)

        assert done.code == 1
        assert said in done.err
        assert entries(file) == {"a": {"command": "a"}}

    def test_a_broken_file_is_not_touched(self, kaa: Kaa) -> None:
        file = kaa.home / "mcp.json"
        file.write_text('{"mcpServers": {')

        done = kaa.run("mcp", "add", "a", "--", "a")

        assert done.code != 0
        assert "mcp.json" in done.err
        assert file.read_text() == '{"mcpServers": {'

    def test_a_server_in_another_file_is_named_where_it_is(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "a", "--", "a")

        done = kaa.run("mcp", "remove", "--project", "a")

        assert done.code == 1
        assert f"has no server a. It is in {kaa.home / 'mcp.json'}" in done.err

    def test_what_the_user_changes_in_a_project_stays_trusted(self, kaa: Kaa) -> None:
        assert "Start kaa here" not in kaa.run("mcp", "add", "--project", "a", "--", "a").out
        assert "a: not approved" in kaa.run("mcp", "list").out
        (kaa.project / ".kaa" / "SYSTEM.md").write_text("A stranger's.")

        assert "Start kaa here" in kaa.run("mcp", "add", "--project", "b", "--", "b").out
        assert "not used" in kaa.run("mcp", "list").err

    def test_a_link_in_a_project_is_not_followed(self, kaa: Kaa) -> None:
        target = kaa.home.parent / "target.json"
        target.write_text("{}")
        (kaa.project / ".kaa").mkdir()
        (kaa.project / ".kaa" / "mcp.json").symlink_to(target)

        done = kaa.run("mcp", "add", "--project", "a", "--", "a")

        assert done.code == 1
        assert "is a link" in done.err
        assert target.read_text() == "{}"


class TestApproving:
    def test_a_server_of_the_project_starts_after_its_approval(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "--project", "ours", "--", *scripted(kaa))
        trust(kaa.project, kaa.home)
        before = kaa.run("mcp", "test", "ours")
        listed = kaa.run("mcp", "list")

        approved = kaa.run("mcp", "approve", "ours", "--yes")
        after = kaa.run("mcp", "test", "ours")

        assert before.code == 1
        assert "`kaa mcp approve ours` approves it" in before.out
        assert "not approved (`kaa mcp approve ours`)" in listed.out
        assert "It runs the command: " in approved.out
        assert approved.code == 0, approved.err
        assert after.code == 0, after.out
        assert "ours works: scripted 1, revision 2025-11-25" in after.out

    def test_nobody_to_ask_approves_nothing(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "--project", "ours", "--", "ours")
        trust(kaa.project, kaa.home)

        done = kaa.run("mcp", "approve", "ours")

        assert done.code == 1
        assert "give --yes" in done.err
        assert not (kaa.home / "mcp-approvals.json").exists()

    def test_changed_tools_are_shown_and_approved(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "own", "--", *scripted(kaa))
        kaa.run("mcp", "test", "own")
        scripted(kaa, tools=[mcp_server.echo_tool(description="Send it to me.")])
        kaa.run("mcp", "test", "own")
        held = kaa.run("mcp", "list")

        approved = kaa.run("mcp", "approve", "own", "--yes")
        again = kaa.run("mcp", "list")

        assert "1 of them changed (`kaa mcp approve own`)" in held.out
        assert "+Send it to me." in approved.out
        assert "own: known, 1 tools\n" in again.out


class TestTesting:
    def test_all_servers_are_tested_and_failures_explained(self, kaa: Kaa) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",))) as remote:
            kaa.run("mcp", "add", "remote", remote.url)
            kaa.run("mcp", "add", "broken", "--", *scripted(kaa, fault="exits"))
            kaa.run("mcp", "add", "missing", "-e", "A=${NOT_SET}", "--", "no-such-program-anywhere")

            done = kaa.run("mcp", "test")

        assert done.code == 1
        assert "remote works: scripted 1, revision 2026-07-28" in done.out
        assert "  echo\n" in done.out
        assert "MCP server broken did not start: it exited with code 3: cannot find its database" in done.out
        assert done.out.count("  cannot find its database\n") == 1
        assert "MCP server missing did not start: no-such-program-anywhere is not installed" in done.out
        assert "MCP server missing needs NOT_SET, which is not set" in done.err

    def test_what_a_server_keeps_is_the_users_alone(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "own", "--", *scripted(kaa))
        data = kaa.home / "mcp-data"
        (data / "own").mkdir(parents=True)  # as former versions made it
        data.chmod(0o755)

        done = kaa.run("mcp", "test", "own")

        assert done.code == 0, done.out + done.err
        modes = [folder.stat().st_mode & 0o777 for folder in (data, data / "own", data / "own" / "cache")]
        assert modes == [0o700] * 3

    def test_where_a_server_can_keep_nothing_it_does_not_start(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "own", "--", *scripted(kaa))
        (kaa.home / "mcp-data").touch()

        done = kaa.run("mcp", "test", "own")

        assert done.code == 1
        assert f"its folder {kaa.home / 'mcp-data' / 'own'} cannot be created (File exists)" in done.out

    def test_an_unknown_name_is_told_with_the_known_ones(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "a", "--", "a")

        done = kaa.run("mcp", "test", "b")

        assert (done.code, done.err) == (1, "kaa: there is no MCP server 'b' here. Configured: a\n")


class TestImporting:
    def test_servers_of_every_agent_become_entries(self, kaa: Kaa) -> None:
        person = kaa.home.parent / "person"
        files = {
            ".claude.json": {"mcpServers": {"claude": {"type": "http", "url": "https://a.example", "timeout": 5000}}},
            ".gemini/settings.json": {
                "mcpServers": {"gemini": {"httpUrl": "https://b.example", "includeTools": ["x"]}}
            },
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
            done = kaa.run("mcp", "import", agent, "--yes")
            assert done.code == 0, done.err

        assert entries(kaa.home / "mcp.json") == {
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

    def test_codex_says_times_and_approvals_in_its_own_way(self, kaa: Kaa) -> None:
        codex = kaa.home.parent / "person" / ".codex"
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

        done = kaa.run("mcp", "import", "codex", "--yes")

        assert entries(kaa.home / "mcp.json") == {
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

    def test_names_that_clash_are_told_apart(self, kaa: Kaa) -> None:
        def entry(key: str) -> dict[str, Json]:
            return {"url": "https://a.example", "headers": {"X-Key": key}}

        mine = {"mcpServers": {"my-lab": entry("sk-2"), "my lab": entry("sk-1")}}
        content = {"mcpServers": {"my_lab": entry("sk-1")}, "projects": {str(kaa.project.resolve()): mine}}
        (kaa.home.parent / "person" / ".claude.json").write_text(json.dumps(content))

        done = kaa.run("mcp", "import", "claude", "--yes")
        again = kaa.run("mcp", "import", "claude", "--yes")

        assert (done.code, again.code) == (0, 0)
        assert {name: entry["headers"] for name, entry in entries(kaa.home / "mcp.json").items()} == {
            "my_lab": {"X-Key": "${MY_LAB_X_KEY}"},
            "my-lab-2": {"X-Key": "${MY_LAB_2_X_KEY}"},
        }
        assert "'my-lab' is its name there" in done.out
        assert "MCP server my lab in" in done.err
        assert "another server with a name like this is the same" in done.err
        assert "has the server my-lab-2 already" in again.out

    def test_a_name_that_is_taken_stays_as_it_is(self, kaa: Kaa) -> None:
        kaa.run("mcp", "add", "my-lab", "--", "mine")
        servers = {"my_lab": {"command": "theirs"}, "new": {"command": "new"}}
        (kaa.home.parent / "person" / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

        done = kaa.run("mcp", "import", "claude", "--yes")

        assert done.code == 1
        assert "my_lab is left out" in done.err
        assert "another server my-lab. `kaa mcp remove my-lab` removes it" in done.err
        assert {name: entry["command"] for name, entry in entries(kaa.home / "mcp.json").items()} == {
            "my-lab": "mine",
            "new": "new",
        }

    @pytest.mark.parametrize(("agent", "file"), [("claude", ".claude.json"), ("codex", ".codex/config.toml")])
    def test_a_file_in_utf_16_is_named_with_what_to_do(self, kaa: Kaa, agent: str, file: str) -> None:
        path = kaa.home.parent / "person" / file
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"mcpServers": {}}', "utf-16")

        done = kaa.run("mcp", "import", agent)

        assert (done.code, done.err) == (1, f"kaa: {path} cannot be read: it is UTF-16. Save it as UTF-8\n")

    def test_secrets_are_not_copied(self, kaa: Kaa) -> None:
        entry = {
            "url": "https://a.example",
            "env": {"API_KEY": "sk-secret-1", "REGION": "eu"},
            "headers": {"Authorization": "Bearer sk-secret-2", "X-Custom": "Bearer sk-secret-3"},
        }
        (kaa.home.parent / "person" / ".claude.json").write_text(json.dumps({"mcpServers": {"a": entry}}))

        done = kaa.run("mcp", "import", "claude", "--yes")

        assert "sk-secret" not in done.out + done.err + (kaa.home / "mcp.json").read_text()
        assert entries(kaa.home / "mcp.json")["a"]["env"] == {"API_KEY": "${API_KEY}", "REGION": "eu"}
        assert "set the variable A_AUTHORIZATION to it" in done.out

    def test_what_may_be_a_secret_is_named(self, kaa: Kaa) -> None:
        servers = {"a": {"command": "a", "args": ["--token", "x"]}, "b": {"url": "https://b.example/mcp?api_key=x"}}
        (kaa.home.parent / "person" / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

        done = kaa.run("mcp", "import", "claude", "--yes")

        assert "`args` may have a secret, which is copied" in done.out
        assert "`url` may have a secret, which is copied" in done.out

    def test_nothing_is_written_without_an_answer(self, kaa: Kaa) -> None:
        (kaa.home.parent / "person" / ".claude.json").write_text('{"mcpServers": {"a": {"command": "a"}}}')

        done = kaa.run("mcp", "import", "claude")

        assert done.code == 1
        assert not (kaa.home / "mcp.json").exists()

    def test_passwords_and_servers_of_one_project_are_named(self, kaa: Kaa) -> None:
        mine = {"mcpServers": {"here": {"command": "x"}, "closed": {"url": "https://me:secret@x.example/"}}}
        content = {"projects": {str(kaa.project.resolve()): mine}}
        (kaa.home.parent / "person" / ".claude.json").write_text(json.dumps(content))

        done = kaa.run("mcp", "import", "claude", "-y")

        assert "only, kaa everywhere" in done.out
        assert "closed" in done.err
        assert "its URL has a password" in done.err
        assert "secret" not in done.out + done.err

    def test_what_cannot_be_used_is_named(self, kaa: Kaa) -> None:
        servers = {"a": {"type": "ws", "url": "wss://x"}, "b": 5, "c": {"command": "c"}}
        (kaa.home.parent / "person" / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

        done = kaa.run("mcp", "import", "claude", "--yes")

        assert "MCP server a in" in done.err
        assert "MCP server b in" in done.err
        assert list(entries(kaa.home / "mcp.json")) == ["c"]
