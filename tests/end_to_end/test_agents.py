"""The tool `agent` in whole programs: what its agents get, what they may do, and what comes back."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support import mcp_server
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_sources import write
from tests.support.model_script import Fault
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.trusting import trust

pytestmark = pytest.mark.usefixtures("elsewhere")

unconfined = pytest.mark.usefixtures("full_access")

_DEFINITION = """\
---
name: scribe
description: Writes notes
tools: {tools}
{more}
---
You are a scribe.
"""


def define(kaa: Kaa, tools: str = "Read, Write, Bash", more: str = "") -> None:
    """A definition of the user's."""
    write(kaa.home / "agents", {"scribe.md": _DEFINITION.format(tools=tools, more=more)})


def request(server: ModelServer, number: int) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(server.requests[number].body)
    return body


def tools(server: ModelServer, number: int) -> set[str]:
    return {tool["function"]["name"] for tool in request(server, number).get("tools", ())}


def results(server: ModelServer) -> list[str]:
    return [text for role, text in conversation(server.requests[-1]) if role == "tool"]


@unconfined
def test_an_agent_gets_its_task_alone_and_returns_its_report(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("agent", agent="explore", task="Find the door."), say("It is at a.py:3."), say("Done.")])

    done = kaa.run("-p", "A secret plan.")

    assert (done.code, done.out) == (0, "Done.\n"), done.err
    child = request(server, 1)
    assert "Find the door." in child["messages"][-1]["content"]
    assert "A secret plan." not in json.dumps(child)
    assert "You search a project for another agent" in child["messages"][0]["content"]
    assert tools(server, 1) == {"read", "bash", "process"}
    assert results(server)[0].startswith("It is at a.py:3.")
    assert "[explore-" in results(server)[0]
    assert "1 turn, " in results(server)[0]


@unconfined
@pytest.mark.parametrize(
    ("more", "server_name"),
    [
        ("mcpServers: [scripted]", "scripted"),
        ("mcpServers:\n  - inner: {{command: {python}, args: [{script}, {settings}], timeout: 60000}}", "inner"),
    ],
)
def test_an_agent_has_the_tools_of_its_servers(
    kaa: Kaa, server: ModelServer, tier: str, more: str, server_name: str
) -> None:
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    files = write(
        kaa.project.parent / "server",
        {"server.py": Path(mcp_server.__file__).read_text(), "s.json": json.dumps({"eras": ["legacy"]})},
    )
    known = {"python": sys.executable, "script": str(files / "server.py"), "settings": str(files / "s.json")}
    entry = {"command": sys.executable, "args": [known["script"], known["settings"]], "exposure": "deferred"}
    servers = {"scripted": entry, "other": entry} if server_name == "scripted" else {}
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    define(kaa, tools="Read", more=more.format(**known))
    first = kaa.run("mcp", "test", server_name)
    if server_name == "inner":
        assert first.code != 0
        assert "you have not approved it" in first.out + first.err
        assert kaa.run("mcp", "approve", "inner", "--yes").code == 0
    for name in servers or ["inner"]:
        assert (done := kaa.run("mcp", "test", name)).code == 0, done.err + done.out
    server.begin([call("agent", agent="scribe", task="Write."), say("Written."), say("Done.")])

    kaa.run("-p", "hi")

    assert not any(name.startswith("mcp__") for name in tools(server, 0))
    assert tools(server, 1) == {"read", f"mcp__{server_name}__echo"}


@unconfined
def test_agents_in_the_users_settings_of_opencode_are_used_if_wanted(kaa: Kaa, server: ModelServer) -> None:
    person = kaa.project.parent / "person"
    settings = {"agent": {"scribe": {"description": "Writes", "prompt": "You are a scribe.", "tools": {"bash": False}}}}
    write(person, {".config/opencode/opencode.json": json.dumps(settings)})
    kaa.setenv(HOME=str(person))
    server.begin([say("Done."), call("agent", agent="scribe", task="Write."), say("Written."), say("Done.")])
    kaa.run("-p", "hi")
    assert "scribe" not in server.requests[-1].body.decode()
    assert "kaa import opencode" in kaa.run("import").out
    assert kaa.run("import", "opencode").code == 0

    kaa.run("-p", "hi")

    assert request(server, 2)["messages"][0]["content"].startswith("You are a scribe.")
    assert "bash" not in tools(server, 2)


@unconfined
def test_servers_that_a_definition_of_a_project_defines_are_not_used(kaa: Kaa, server: ModelServer) -> None:
    more = "mcpServers:\n  - inner: {command: touch, args: [/tmp/never]}"
    write(kaa.project / ".claude" / "agents", {"scribe.md": _DEFINITION.format(tools="Read", more=more)})
    trust(kaa.project, kaa.home)
    server.begin([call("agent", agent="scribe", task="Write."), say("Written."), say("Done.")])

    done = kaa.run("-p", "hi")

    assert "works without the MCP server inner" in done.err
    assert "inner" not in kaa.run("mcp", "list").out
    assert "only your own files can define servers" in kaa.run("import").out


def test_what_only_reads_cannot_write_by_any_tool(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, more="permission: read-only")
    server.begin(
        [
            call("agent", agent="scribe", task="Write."),
            call("write", path="note.txt", content="x"),
            call("bash", command="echo x >note.txt; ls /"),
            say("I could not."),
            say("Done."),
        ]
    )

    kaa.run("-p", "hi")

    assert not (kaa.project / "note.txt").exists()
    assert tools(server, 1) == {"read", "bash"}
    assert "I could not." in results(server)[0]


@unconfined
def test_definitions_of_a_project_are_used_after_trust(kaa: Kaa, server: ModelServer) -> None:
    write(kaa.project / ".claude" / "agents", {"scribe.md": _DEFINITION.format(tools="Read", more="model: haiku")})
    server.begin([say("Done."), call("agent", agent="scribe", task="Read."), say("Seen."), say("Done.")])
    kaa.run("-p", "hi")
    assert "scribe" not in server.requests[-1].body.decode()
    trust(kaa.project, kaa.home)

    kaa.run("-p", "hi")

    assert "scribe: Writes notes" in json.dumps(request(server, 1))
    assert tools(server, 2) == {"read"}
    assert "Seen." in results(server)[0]


def test_a_definition_with_the_name_of_kaa_s_own_can_do_no_more(kaa: Kaa, server: ModelServer) -> None:
    names = ("explore", "Explore")  # the second is what Claude Code calls it
    write(kaa.home / "agents", {f"{name}.md": f"---\nname: {name}\ndescription: D\n---\n{name}!\n" for name in names})
    script = [
        [call("agent", agent=name, task="Look."), call("bash", command="touch b"), say("Seen.")] for name in names
    ]
    server.begin([*script[0], *script[1], say("Done.")])

    kaa.run("--approvals", "auto", "-p", "hi")

    for name, number in zip(names, (1, 4), strict=True):
        assert f"{name}!" in str(request(server, number))
    assert not (kaa.project / "b").exists()


class TestWorktrees:
    """Agents that work in worktrees of their own."""

    @pytest.fixture
    def kaa(self) -> Iterator[Kaa]:
        """Elsewhere: the sandbox shows nothing of temporary directories."""
        with folder_elsewhere() as folder:
            kaa = Kaa(folder)
            kaa.setenv(GIT_CEILING_DIRECTORIES=str(folder))
            (kaa.project / "file").write_text("old\n")
            yield kaa

    def test_its_changes_wait_in_its_worktree(self, kaa: Kaa) -> None:
        script = [
            call("agent", agent="general", task="Change it", worktree=True),
            call("bash", command="mkdir own; git init -q own; echo x > own/x; pwd; echo new > file; echo x > more"),
            call("write", path="more", content="y"),
            say("Changed."),
            say("Done."),
        ]
        with ModelServer(script) as server:
            kaa.use(server, "openai-completions")
            done = kaa.run("-p", "go")

            assert done.code == 0, done.err
            assert (kaa.project / "file").read_text() == "old\n"
            told = conversation(server.requests[-1])[-1][1]
            [name] = re.findall(r"its changes are in the worktree (general-\w{6})\]", told)
            assert f"`kaa worktrees merge {name}`, but not own/: git ignores or cannot add it." in told
            assert conversation(server.requests[2])[-1][1].endswith(f"/{name}")
            merged = kaa.run("worktrees", "merge", "--yes", name)
            assert merged.code == 0, merged.err
            assert (kaa.project / "file").read_text() == "new\n"
            assert (kaa.project / "more").read_text() == "y"

    def test_several_at_once_commit_in_worktrees_of_their_own(self, kaa: Kaa) -> None:
        git = ("git", "-C", str(kaa.project), "-c", "user.name=a", "-c", "user.email=a@b")
        for words in (("init", "-q"), ("config", "user.name", "a"), ("config", "user.email", "a@b"), ("add", "file")):
            subprocess.run([*git, *words], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
        agents = [call("agent", agent="general", task=f"Do {number}", worktree=True) for number in range(3)]
        commit = call("bash", command="echo new >file; git add file && git commit -q -m second")
        commits = [msgspec.structs.replace(commit, fault=Fault("stall")) for _ in agents]  # until each has asked once
        together = msgspec.structs.replace(agents[0], calls=tuple(one.calls[0] for one in agents))
        with ModelServer([together, *commits, *(say("Changed.") for _ in agents), say("Done.")]) as server:
            kaa.use(server, "openai-completions")
            with kaa.running("-p", "go") as process:
                server.wait_for_requests(1 + len(agents))
                server.release()
                assert process.wait(HANG_SECONDS) == 0

            log = [*git, "log", "--branches=kaa/*", "--format=%s", "--no-walk"]
            listed = subprocess.run(log, capture_output=True, check=True).stdout
            worktrees = subprocess.run([*git, "worktree", "list"], capture_output=True, check=True).stdout
            assert set(listed.split()) == {b"second"}
            assert len(worktrees.splitlines()) == 4
            assert "blocked" not in "".join(text for request in server.requests for _, text in conversation(request))

    def test_one_that_changes_nothing_leaves_none(self, kaa: Kaa) -> None:
        (kaa.home / "agents").mkdir()
        definition = "---\ndescription: Looks.\nisolation: worktree\n---\nLook.\n"
        (kaa.home / "agents" / "looker.md").write_text(definition)
        script = [
            call("agent", agent="looker", task="Look"),
            call("bash", command="cat file"),
            say("Old."),
            say("Done."),
        ]
        with ModelServer(script) as server:
            kaa.use(server, "openai-completions")
            done = kaa.run("-p", "go")

            assert done.code == 0, done.err
            assert "worktree" not in conversation(server.requests[-1])[-1][1]
            assert kaa.run("worktrees").out.startswith("no worktrees")

    def test_there_is_none_where_nothing_may_be_written(self, kaa: Kaa) -> None:
        script = [call("agent", agent="general", task="Change it", worktree=True), say("Not possible.")]
        with ModelServer(script) as server:
            kaa.use(server, "openai-completions")
            kaa.run("-p", "/plan go")

            assert "nothing can be written here" in conversation(server.requests[-1])[-1][1]


@unconfined
def test_each_event_of_json_mode_says_whose_it_is(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, tools="agent, Bash")
    nested = call("agent", agent="explore", task="Find the door.")
    server.begin([call("agent", agent="scribe", task="Lead."), nested, say("Found."), say("Led."), say("Done.")])

    events = [json.loads(line) for line in kaa.run("-p", "--mode", "json", "hi").out.splitlines()]

    callers = [event.get("agent") for event in events if event["type"] == "tool_execution_start"]
    replies = {event["agent"] for event in events if event["type"] == "message_end" and "agent" in event}
    assert callers[0] is None
    assert callers[1].startswith("scribe-")
    assert {name.partition("-")[0] for name in replies} == {"scribe", "explore"}
