"""MCP servers in whole programs: configured, started in a sandbox, called by the model."""

import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import READY
from tests.support import mcp_server
from tests.support.elsewhere import folder_elsewhere
from tests.support.mcp_http import McpHttpServer
from tests.support.mcp_server import ScriptedServer, echo_tool
from tests.support.model_server import ModelServer, call, say
from tests.support.program import Program
from tests.support.rpc_client import rpc
from tests.support.trusting import trust
from tests.support.warm_start import COMMAND

pytestmark = pytest.mark.usefixtures("full_access")


@pytest.fixture
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: a server in a sandbox sees nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    # A home is closed as a whole, and the project must not be in it.
    (kaa.home.parent / "person").mkdir()
    kaa.setenv(HOME=str(kaa.home.parent / "person"))
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


def configure(kaa: Kaa, file: Path, script: dict[str, Json] | None = None, **fields: Json) -> None:
    """Write a file that configures the server `scripted`."""
    folder = kaa.home.parent / "server"
    folder.mkdir(exist_ok=True)
    (folder / "script.json").write_text(json.dumps(script or {}))
    (folder / "server.py").write_text(Path(mcp_server.__file__).read_text())
    entry = {"command": sys.executable, "args": ["-I", "-S", str(folder / "server.py"), str(folder / "script.json")]}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": {"scripted": entry | fields}}))


def results(server: ModelServer) -> list[str]:
    """What tools answered, in the last request."""
    return [text for role, text in conversation(server.requests[-1]) if role == "tool"]


def test_the_model_calls_a_tool_of_the_users_server(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.home / "mcp.json", {"eras": ["legacy"]})
    arguments = {"action": "call", "server": "scripted", "tool": "echo", "arguments": {"text": "over the pipe"}}
    server.begin([call("mcp", **arguments), say("Done.")])

    done = kaa.run("-p", "hi")

    assert (done.code, done.out) == (0, "Done.\n"), done.err
    assert "over the pipe" in results(server)[0]


def test_a_short_run_leaves_the_listing_of_a_slow_server_to_another_process(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.home / "mcp.json")
    go = kaa.home.parent / "server" / "go"
    config = json.loads((kaa.home / "mcp.json").read_text())
    entry = config["mcpServers"]["scripted"]
    line = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"'
    entry |= {"command": "/bin/sh", "args": ["-c", line, str(go), entry["command"], *entry["args"]]}
    (kaa.home / "mcp.json").write_text(json.dumps(config))
    server.begin([say("Done."), call("mcp", action="status"), say("Done.")])

    first = kaa.run("-p", "hi")
    known = list(kaa.home.glob("cache/mcp/*.json"))
    go.touch()
    while not list(kaa.home.glob("cache/mcp/*.json")):
        time.sleep(0.05)
    second = kaa.run("-p", "hi")

    assert (first.code, first.out, known) == (0, "Done.\n", []), first.err
    assert second.code == 0, second.err
    assert results(server)[0].startswith("scripted (known, ")


def test_a_server_that_is_removed_while_it_is_listed_leaves_nothing(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.home / "mcp.json")
    go = kaa.home.parent / "server" / "go"
    config = json.loads((kaa.home / "mcp.json").read_text())
    entry = config["mcpServers"]["scripted"]
    fetch = 'mkdir -p "$XDG_CACHE_HOME/package"; echo 1 > "$XDG_CACHE_HOME/package/part"'
    line = f'until [ -e "$0" ]; do {fetch}; sleep 0.02; done; exec "$@"'
    entry |= {"command": "/bin/sh", "args": ["-c", line, str(go), entry["command"], *entry["args"]]}
    (kaa.home / "mcp.json").write_text(json.dumps(config))
    server.begin([say("Done.")])

    kaa.run("-p", "hi")
    cache = kaa.home / "mcp-data" / "scripted" / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    while not (cache / "package" / "part").exists():  # of the process that lists: the run has ended its server
        time.sleep(0.05)
    removed = kaa.run("mcp", "remove", "scripted")
    go.touch()
    with (kaa.home / "cache" / "mcp" / "listing.lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # the process that lists has ended

    assert removed.code == 0
    assert "its own files stay" not in removed.err
    assert not (kaa.home / "mcp-data" / "scripted").exists()
    assert list(kaa.home.glob("cache/mcp/*.json")) == []


def test_the_model_calls_a_tool_of_a_server_at_an_address(kaa: Kaa, server: ModelServer) -> None:
    kaa.setenv(TEAM="blue")
    tool = echo_tool(annotations={"readOnlyHint": True})
    with McpHttpServer(ScriptedServer(eras=("legacy", "modern"), tools=[tool]), "stream") as remote:
        entry = {"url": remote.url, "headers": {"X-Team": "${TEAM}"}}
        (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"remote": entry}}))
        arguments = {"action": "call", "server": "remote", "tool": "echo", "arguments": {"text": "over the wire"}}
        server.begin([call("mcp", **arguments), say("Done.")])

        done = kaa.run("-p", "hi")

        assert (done.code, done.out) == (0, "Done.\n"), done.err
        assert "over the wire" in results(server)[0]
        assert {one.headers["x-team"] for one in remote.asked} == {"blue"}


def test_a_tool_at_an_address_that_may_write_is_not_called_where_nobody_can_be_asked(
    kaa: Kaa, server: ModelServer
) -> None:
    with McpHttpServer(ScriptedServer(eras=("modern",))) as remote:
        (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"remote": {"url": remote.url}}}))
        arguments = {"action": "call", "server": "remote", "tool": "echo", "arguments": {"text": "x"}}
        server.begin([call("mcp", **arguments), say("Denied.")])

        done = kaa.run("--sandbox", "workspace-write", "-p", "hi")

        assert done.code == 3, done.err
        assert remote.messages("tools/call") == []


def test_an_address_without_encryption_is_refused(kaa: Kaa, server: ModelServer) -> None:
    entry = {"url": "http://mcp.example.com/mcp", "headers": {"Authorization": "secret"}}
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"remote": entry}}))
    server.begin([call("mcp", action="connect", server="remote"), say("I cannot.")])

    kaa.run("-p", "hi")

    assert "mcp.example.com without encryption" in results(server)[0]


def test_headers_come_from_a_command_of_the_users_file_only(kaa: Kaa, server: ModelServer) -> None:
    helper = kaa.home / "headers.sh"
    helper.write_text("""echo '{"Authorization": "Bearer made-now"}'\n""")
    with McpHttpServer(ScriptedServer(eras=("modern",))) as remote:
        entry = {"url": remote.url, "headersHelper": f"sh {helper}"}
        (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"remote": entry}}))
        (kaa.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
        server.begin([call("mcp", action="connect", server="remote"), say("Done.")])

        kaa.run("-p", "hi", "--trust")

        assert {one.headers["authorization"] for one in remote.asked} == {"Bearer made-now"}


def test_no_command_for_headers_is_one_that_commands_can_write(kaa: Kaa, server: ModelServer) -> None:
    canary = kaa.home / "canary"
    script = kaa.project / "headers.sh"
    script.write_text(f"touch {canary}; echo '{{}}'\n")
    (kaa.home / "link.sh").symlink_to(script)
    below = os.path.relpath(script, kaa.environ["HOME"])
    helpers = [f"sh {script}", f"sh {below}", f"sh $HOME/{below}", f"sh ${{HOME}}/{below}", f"sh ~/{below}"]
    helpers += [f"cd {kaa.project} && sh headers.sh", f"sh {kaa.home}/link.sh", f"PATH={kaa.project}:$PATH headers.sh"]
    helpers += [f'sh "$HOME"/{below}', f"sh ${{HOME:-/}}/{below}", f"sh {kaa.project}/head*.sh", f"sh {below[:-2]}\\sh"]
    with McpHttpServer(ScriptedServer(eras=("modern",))) as remote:
        entries = {f"s{n}": {"url": remote.url, "headersHelper": one} for n, one in enumerate(helpers)}
        (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
        server.begin([*(call("mcp", action="connect", server=name) for name in entries), say("I cannot.")])

        kaa.run("-p", "hi")

        said = results(server)
        assert len(said) == len(helpers)
        assert all("which commands in the sandbox can write" in one for one in said), said
        assert not canary.exists()
        assert remote.asked == []


def test_no_command_for_headers_is_one_that_commands_could_write(kaa: Kaa, server: ModelServer) -> None:
    canary, added = kaa.home / "canary", kaa.home.parent / "added"
    added.mkdir()
    for script in (added / "h.sh", kaa.home / "linked.sh"):
        script.write_text(f"touch {canary}; echo '{{}}'\n")
    (kaa.project / "h.sh").hardlink_to(kaa.home / "linked.sh")
    server.begin([call("bash", command="true"), say("Done.")])
    kaa.run("-p", "hi", "--sandbox", "workspace-write", "--add-dir", str(added))
    helpers = [f"sh {added}/h.sh", f"sh {kaa.home}/linked.sh"]
    with McpHttpServer(ScriptedServer(eras=("modern",))) as remote:
        entries = {f"s{n}": {"url": remote.url, "headersHelper": one} for n, one in enumerate(helpers)}
        (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
        server.begin([*(call("mcp", action="connect", server=name) for name in entries), say("I cannot.")])

        kaa.run("-p", "hi")

        said = results(server)
        assert "was added to a project (--add-dir)" in said[0]
        assert "is a hard link" in said[1]
        assert not canary.exists()


def test_a_known_server_offers_its_tools_at_once(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.home / "mcp.json", required=True)
    server.begin([say("Once.")])
    kaa.run("-p", "hi")
    server.begin([call("mcp__scripted__echo", text="directly"), say("Done.")])

    done = kaa.run("-p", "hi")

    assert (done.code, done.out) == (0, "Done.\n"), done.err
    assert "directly" in results(server)[0]


def test_a_resource_that_is_mentioned_goes_along(kaa: Kaa, server: ModelServer) -> None:
    listed = [{"uri": "note://shopping", "name": "Shopping"}]
    configure(kaa, kaa.home / "mcp.json", {"resources": listed}, required=True)
    server.begin([say("First."), say("Second.")])

    first = kaa.run("-p", "@scripted:note://shopping", "What is to buy?")
    second = kaa.run("-p", "What is in @scripted:note://shopping and @scripted:note://other?")

    assert (first.code, second.code) == (0, 0), first.err + second.err
    asked, also = (conversation(request)[-1][1] for request in server.requests)
    assert asked.startswith("@scripted:note://shopping\n\nWhat is to buy?")
    assert "content of note://shopping" in asked
    assert "content of note://shopping" in also
    assert "content of note://other" not in also
    assert "@scripted:note://other is sent as a name only" in second.err


def test_a_client_of_rpc_mode_mentions_a_resource(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.home / "mcp.json", {"resources": [{"uri": "note://shopping"}]})
    server.begin([say("Bread.")])

    with rpc(kaa) as client:
        client.ask("prompt", message="What is in @scripted:note://shopping?")
        client.event("agent_settled")

    assert "content of note://shopping" in conversation(server.requests[0])[-1][1]


def test_a_server_that_is_added_while_kaa_runs_serves_the_next_session(kaa: Kaa, server: ModelServer) -> None:
    (kaa.home / "mcp.json").write_text("{}")
    server.begin([say("None."), call("mcp", action="connect", server="scripted"), say("Done.")])

    with rpc(kaa) as client:
        client.ask("prompt", message="Which servers?")
        client.event("agent_settled")
        configure(kaa, kaa.home / "mcp.json")
        client.data("new_session")
        client.ask("prompt", message="And now?")
        client.event("agent_settled")

    assert "scripted" in results(server)[0]
    assert "There is no MCP server" not in results(server)[0]


def test_a_resource_is_completed_and_mentioned_in_the_terminal(kaa: Kaa, server: ModelServer) -> None:
    configure(
        kaa, kaa.home / "mcp.json", {"resources": [{"uri": "note://shopping", "name": "Shopping"}]}, required=True
    )
    server.begin([say("Known."), say("Bread.")])
    kaa.run("-p", "hi")

    with Program.start([COMMAND], env=kaa.environ, cwd=kaa.project) as program:
        program.wait_for(READY)
        program.type("@scri")
        program.wait_for("scripted:")
        program.press("tab")
        program.wait_for("note://shopping")
        program.press("tab")
        program.wait_for("@scripted:note://shopping")
        program.type("what?")
        program.press("enter")
        program.wait_for("Bread.")

    assert "content of note://shopping" in conversation(server.requests[-1])[-1][1]


def test_a_missing_required_server_ends_with_1_and_its_name(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.home / "mcp.json", {"fault": "exits"}, required=True)

    done = kaa.run("-p", "hi")

    assert (done.code, done.out) == (2, "")
    assert "MCP server scripted did not start: it exited with code 3: cannot find its database" in done.err
    assert server.requests == []


def test_a_crash_of_node_is_told_with_its_error(kaa: Kaa, server: ModelServer) -> None:
    report = "node:internal\\n  throw err;\\n\\nError: Cannot find module 'x'\\n    at Module\\n\\nNode.js v22.1.0"
    entry: Json = {"command": "/bin/sh", "args": ["-c", f'printf "{report}\\n" >&2; exit 1']}
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"broken": entry}}))
    server.begin([call("mcp", action="connect", server="broken"), say("I cannot.")])

    kaa.run("-p", "hi")

    assert "it exited with code 1: Error: Cannot find module 'x'" in results(server)[0]


def test_a_key_that_a_server_repeats_reaches_no_model(kaa: Kaa, server: ModelServer) -> None:
    kaa.setenv(MINE="k3y-of-mine/1")
    configure(kaa, kaa.home / "mcp.json")
    file = json.loads((kaa.home / "mcp.json").read_text())
    env: Json = {"LAB_TOKEN": "${MINE}", "DB_PASSWORD": "password", "TOKEN_FILE": "/etc/hostname"}
    file["mcpServers"]["scripted"]["env"] = env
    file["mcpServers"]["ends"] = {"command": "/bin/sh", "args": ["-c", 'echo "bad $LAB_TOKEN" >&2; exit 1'], "env": env}
    (kaa.home / "mcp.json").write_text(json.dumps(file))
    text = "it is k3y-of-mine/1, no password in /etc/hostname"
    arguments = {"action": "call", "server": "scripted", "tool": "echo", "arguments": {"text": text}}
    server.begin([call("mcp", **arguments), call("mcp", action="connect", server="ends"), say("Done.")])

    kaa.run("-p", "hi")

    assert "it is [redacted], no password in /etc/hostname" in results(server)[0]
    assert "it exited with code 1: bad [redacted]" in results(server)[1]


def test_a_file_for_one_run_that_commands_could_have_written_is_approved_first(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.project / "more.json")
    arguments = {"action": "call", "server": "scripted", "tool": "echo", "arguments": {"text": "this once"}}
    server.begin([call("mcp", **arguments), say("Done.")])

    done = kaa.run("-p", "hi", "--mcp-config", "more.json")

    [said] = results(server)
    assert "could write it, and you have not approved it. kaa asks in the terminal" in said
    assert "kaa itself runs from" not in done.err


def test_a_file_for_one_run_is_used_and_nothing_with_no_mcp(kaa: Kaa, server: ModelServer) -> None:
    file = kaa.home.parent / "more.json"
    configure(kaa, file)
    arguments = {"action": "call", "server": "scripted", "tool": "echo", "arguments": {"text": "this once"}}
    server.begin([call("mcp", **arguments), say("Done."), say("Without.")])

    kaa.run("-p", "hi", "--mcp-config", str(file))
    used = results(server)
    kaa.run("-p", "hi", "--mcp-config", str(file), "--no-mcp")
    missing = kaa.run("-p", "hi", "--mcp-config", "nowhere.json")

    assert "this once" in used[0]
    assert "scripted" not in json.dumps(server.requests[-1].json)
    assert missing.code == 2
    assert "there is no file 'nowhere.json'" in missing.err


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ({"allow": ["mcp__remote__*"]}, 0),
        ({"allow": ["mcp__other__*"]}, 3),
        ({"allow": ["mcp__remote__*"], "deny": ["mcp__remote__e*"]}, 3),
    ],
)
def test_rules_name_the_tools_of_servers(kaa: Kaa, server: ModelServer, rules: dict[str, Json], code: int) -> None:
    kaa.settings(approvals=rules)
    with McpHttpServer(ScriptedServer(eras=("modern",))) as remote:
        (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"remote": {"url": remote.url}}}))
        arguments = {"action": "call", "server": "remote", "tool": "echo", "arguments": {"text": "x"}}
        server.begin([call("mcp", **arguments), say("Done.")])

        done = kaa.run("--sandbox", "workspace-write", "-p", "hi")

        assert (done.code, len(remote.messages("tools/call"))) == (code, 1 if code == 0 else 0), done.err


def test_an_unapproved_server_of_a_project_is_named_and_not_started(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.project / ".mcp.json")
    server.begin([call("mcp", action="connect", server="scripted"), say("I cannot.")])

    done = kaa.run("-p", "hi", "--trust")

    assert done.code == 0, done.err
    assert "kaa mcp approve scripted" in results(server)[0]


def test_print_mode_uses_an_approved_server_of_a_project_with_the_option_only(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.project / ".mcp.json")
    trust(kaa.project, kaa.home)
    approved = kaa.run("mcp", "approve", "scripted", "--yes")
    arguments = {"action": "call", "server": "scripted", "tool": "echo", "arguments": {"text": "ours"}}
    server.begin([say("No server."), call("mcp", **arguments), say("Done.")])

    without = kaa.run("-p", "hi")
    with_it = kaa.run("-p", "hi", "--trust")

    assert approved.code == 0, approved.err
    assert "not used, because nobody watches this run (.mcp.json). --trust uses it" in without.err
    assert (with_it.code, with_it.out) == (0, "Done.\n"), with_it.err
    assert "ours" in results(server)[0]


def test_a_project_that_is_not_trusted_configures_nothing(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.project / ".mcp.json")
    server.begin([say("Hello.")])

    done = kaa.run("-p", "hi")

    assert done.code == 0
    assert "scripted" not in json.dumps(server.requests[0].json)


def test_hosts_that_a_server_may_not_reach_are_named_with_the_setting(kaa: Kaa, server: ModelServer, tier: str) -> None:
    if tier not in ("full", "bwrap"):
        pytest.skip("the sandbox of this machine knows no hosts")
    file = kaa.home / "mcp.json"
    configure(kaa, file, {"fault": "fetches"})
    arguments = {"action": "call", "server": "scripted", "tool": "echo", "arguments": {"text": "http://api.example/"}}
    server.begin(
        [call("mcp", **arguments), call("mcp", **arguments | {"arguments": {"text": "no://where"}}), say("I cannot.")]
    )
    kaa.run("-p", "hi")
    while_used = results(server)
    configure(kaa, file, {"first": "http://api.example/"}, permissions={"project": "write", "hosts": ["pypi.org"]})
    server.begin([call("mcp", **arguments), say("I cannot.")])

    kaa.run("-p", "hi")

    setting = '"permissions": {"project": "read", "hosts": ["api.example"]}'
    kept = "The sandbox of MCP server scripted kept it from api.example."
    assert f"{kept} To permit that, set {setting} for scripted in {file}" in while_used[0]
    assert "api.example" not in while_used[1]
    [at_start] = results(server)
    assert f"scripted did not start: it exited with code 4. {kept}" in at_start
    assert 'set "permissions": {"project": "write", "hosts": ["pypi.org", "api.example"]}' in at_start


def test_a_server_sees_neither_keys_nor_the_home(kaa: Kaa, server: ModelServer) -> None:
    configure(kaa, kaa.home / "mcp.json", {"tools": [echo_tool("spy")], "fault": "spies"})
    kaa.setenv(SOME_API_KEY="hidden-value")
    arguments = {"action": "call", "server": "scripted", "tool": "spy", "arguments": {"text": str(kaa.home)}}
    server.begin([call("mcp", **arguments), say("Done.")])

    kaa.run("-p", "hi")

    found = results(server)[0]
    assert "SOME_API_KEY" not in found
    assert "models.json" not in found
    assert "PATH" in found


def test_a_server_of_the_user_without_a_sandbox_has_the_rights_of_the_user(kaa: Kaa, server: ModelServer) -> None:
    script: dict[str, Json] = {"tools": [echo_tool("spy")], "fault": "spies"}
    configure(kaa, kaa.home / "mcp.json", script, sandbox=False, approval="never")
    arguments = {"action": "call", "server": "scripted", "tool": "spy", "arguments": {"text": str(kaa.home)}}
    server.begin([call("mcp", **arguments), say("Done.")])

    kaa.run("-p", "hi")

    assert "models.json" in results(server)[0]


def test_print_mode_finds_and_calls_a_deferred_tool(kaa: Kaa, server: ModelServer) -> None:
    words = "Does something that takes many words to describe. " * 20
    tools = [echo_tool(f"tool_{number}", description=words) for number in range(40)]
    configure(kaa, kaa.home / "mcp.json", {"tools": [*tools, echo_tool("shout", description="Says it loudly.")]})
    kaa.run("mcp", "test", "scripted")
    arguments = {"action": "call", "tool": "mcp__scripted__shout", "arguments": {"text": "ahoy"}}
    server.begin([call("tool_search", query="loudly"), call("mcp", **arguments), say("Done.")])

    done = kaa.run("-p", "hi")

    assert (done.code, done.out) == (0, "Done.\n"), done.err
    found, told = results(server)
    assert found.startswith("mcp__scripted__shout: Says it loudly.")
    assert "ahoy" in told
    assert len(server.requests[0].body) < 10_000
