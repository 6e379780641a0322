"""`kaa mcp list|add|remove|approve|test|import`, as a person runs them.

tests/frontends/mcp has the variations of `add` and `import`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support import mcp_server
from tests.support.elsewhere import folder_elsewhere
from tests.support.mcp_commands import entries
from tests.support.mcp_http import McpHttpServer
from tests.support.mcp_server import ScriptedServer
from tests.support.trusting import trust

pytestmark = pytest.mark.usefixtures("full_access")


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
    return [sys.executable, "-I", "-S", str(folder / "server.py"), str(folder / "script.json")]


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

    def test_what_a_removed_server_offered_is_forgotten(self, kaa: Kaa) -> None:
        command = scripted(kaa, tools=[{"name": "echo", "inputSchema": {}}])
        kaa.run("mcp", "add", "own", "--", *command)
        kaa.run("mcp", "test", "own")
        known = kaa.run("mcp", "list")

        kaa.run("mcp", "remove", "own")
        kaa.run("mcp", "add", "own", "--", *command)

        assert "own: known" in known.out
        assert "own: configured" in kaa.run("mcp", "list").out

    def test_what_the_user_changes_in_a_project_stays_trusted(self, kaa: Kaa) -> None:
        assert "Start kaa here" not in kaa.run("mcp", "add", "--project", "a", "--", "a").out
        assert "a: not approved" in kaa.run("mcp", "list").out
        (kaa.project / ".kaa" / "SYSTEM.md").write_text("A stranger's.")

        assert "Start kaa here" in kaa.run("mcp", "add", "--project", "b", "--", "b").out
        assert "not used" in kaa.run("mcp", "list").err


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

    def test_a_server_can_be_approved_before_the_project_is_trusted(self, kaa: Kaa) -> None:
        (kaa.project / ".mcp.json").write_text('{"mcpServers": {"ours": {"command": "ours"}}}')

        approved = kaa.run("mcp", "approve", "ours", "--yes")
        untrusted = kaa.run("mcp", "list")
        trust(kaa.project, kaa.home)

        assert (approved.code, approved.out.splitlines()[-1]) == (0, "Approved ours.")
        assert "no server of this project starts before you trust it" in approved.err
        assert "ours" not in untrusted.out
        assert "ours: configured" in kaa.run("mcp", "list").out

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
        assert "own: known, 1 tool\n" in again.out


_SMALL_SERVER = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message["method"] == "initialize":
        info = {"name": "VERSION", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        result = {"tools": []}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


# It writes wherever its variables lead, and says what it found there.
_KEEPING_SERVER = """
import contextlib, os

found = set()
for place in {one for one in os.environ.values() if one.startswith("/") and os.path.isdir(one)}:
    with contextlib.suppress(OSError):
        found.update(one for one in os.listdir(place) if one.startswith("kept-"))
        open(place + "/kept-VERSION", "w").close()
""" + _SMALL_SERVER.replace('"VERSION"', '"VERSION found " + ",".join(sorted(found))')


class TestDeveloping:
    @pytest.fixture(autouse=True)
    def _confined(self, kaa: Kaa, full_access: None) -> None:
        """As users run it: without a sandbox, a server could do anything."""
        del full_access, kaa.usual_settings["sandbox"]
        kaa.settings()

    def test_an_approved_server_goes_on_after_edits_if_it_can_do_no_more_than_a_command(self, kaa: Kaa) -> None:
        script = kaa.project / "server.py"
        script.write_text(_SMALL_SERVER.replace("VERSION", "first"))
        python = str(Path(sys.executable).resolve())  # without the environment of the tests, which is code elsewhere
        kaa.run("mcp", "add", "ours", "--", python, "server.py")

        new = kaa.run("mcp", "test", "ours")
        assert kaa.run("mcp", "approve", "ours", "--yes").code == 0
        script.write_text(_SMALL_SERVER.replace("VERSION", "second"))
        changed = kaa.run("mcp", "test", "ours")

        assert new.code == 1
        assert "`kaa mcp approve ours` shows and approves it" in new.out
        assert "ours works: second 1" in changed.out

    def test_code_that_nobody_approved_sees_nothing_of_what_the_server_keeps_and_leaves_nothing(self, kaa: Kaa) -> None:
        script = kaa.project / "server.py"
        script.write_text(_KEEPING_SERVER.replace("VERSION", "first"))
        kaa.run("mcp", "add", "ours", "--", str(Path(sys.executable).resolve()), "server.py")
        assert kaa.run("mcp", "approve", "ours", "--yes").code == 0

        said = []
        for version in ("first", "first", "second", "second", "first"):
            script.write_text(_KEEPING_SERVER.replace("VERSION", version))
            said.append(kaa.run("mcp", "test", "ours").out)

        assert [one.partition("ours works: ")[2].partition(" 1")[0] for one in said] == [
            "first found",
            "first found kept-first",
            "second found",
            "second found",
            "first found kept-first",
        ]

    def test_one_that_can_do_more_needs_an_approval_after_each_edit(self, kaa: Kaa) -> None:
        script = kaa.project / "server.py"
        script.write_text(_SMALL_SERVER.replace("VERSION", "first"))
        more: dict[str, dict[str, object]] = {
            "variable": {"env": {"TOKEN": "x"}},
            "host": {"permissions": {"project": "read", "hosts": ["example.com"]}},
            "write": {"permissions": {"project": "write"}},
            "elsewhere": {"args": ["server.py", "/usr/share"]},
        }
        servers = {name: {"command": "python3", "args": ["server.py"]} | each for name, each in more.items()}
        (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

        assert [kaa.run("mcp", "approve", name, "--yes").code for name in servers] == [0] * len(servers)
        first = kaa.run("mcp", "test")
        script.write_text(_SMALL_SERVER.replace("VERSION", "second"))
        changed = kaa.run("mcp", "test")

        assert [name for name in servers if f"{name} works: first 1" not in first.out] == []
        assert changed.code == 1
        assert " works: " not in changed.out
        assert changed.out.count("changed since you approved it") == len(servers)


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

        assert (done.code, done.err) == (2, "kaa: there is no MCP server 'b' here. Configured: a\n")


class TestImporting:
    def test_servers_of_another_agent_become_entries(self, kaa: Kaa) -> None:
        servers = {"theirs": {"type": "http", "url": "https://a.example", "timeout": 5000}}
        (kaa.home.parent / "person" / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

        done = kaa.run("mcp", "import", "claude", "--yes")

        assert done.code == 0, done.err
        assert entries(kaa.home / "mcp.json") == {
            "theirs": {"type": "http", "url": "https://a.example", "timeoutSeconds": 5.0}
        }
