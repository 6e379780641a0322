"""The tool `agent` in whole programs: what its agents get, what they may do, and what comes back."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support import mcp_server
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_sources import write
from tests.support.model_script import Answer, Fault
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.trusting import trust

_DEFINITION = """\
---
name: scribe
description: Writes notes
tools: {tools}
{more}
---
You are a scribe.
"""


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


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


def test_an_agent_has_the_instructions_of_its_skills_from_the_beginning(kaa: Kaa, server: ModelServer) -> None:
    skill = "---\nname: {name}\ndescription: Notes\n{more}---\nNumber the lines of {name}.\n"
    write(kaa.home / "skills", {"notes/SKILL.md": skill.format(name="notes", more="")})
    own = skill.format(name="own", more="disable-model-invocation: true\n")
    write(kaa.home / "skills", {"own/SKILL.md": own})
    define(kaa, more="skills: notes, own, missing")
    server.begin([call("agent", agent="scribe", task="Write."), say("Written."), say("Done.")])

    done = kaa.run("-p", "hi")

    prompt = request(server, 1)["messages"][0]["content"]
    assert prompt.index("You are a scribe.") < prompt.index("Number the lines of notes.")
    assert "lines of own" not in prompt
    assert "works without the skill own" in done.err
    assert "works without the skill missing" in done.err


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


def test_what_an_agent_changed_is_told_and_undone_with_the_call(kaa: Kaa, server: ModelServer) -> None:
    define(kaa)
    server.begin(
        [
            call("agent", agent="scribe", task="Write."),
            call("write", path="note.txt", content="x"),
            say("Written."),
            say("Done."),
        ]
    )

    kaa.run("-p", "hi")

    assert (kaa.project / "note.txt").read_text() == "x"
    assert "; it edited note.txt]" in results(server)[0]
    assert request(server, 1)["messages"][0]["content"].startswith("You are a scribe.")


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


def test_what_cannot_be_run_says_why(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, tools="mcp__nothing__at_all")
    calls = [("nobody", "Work."), ("scribe", " "), ("scribe", "Work.")]
    server.begin([*(call("agent", agent=agent, task=task) for agent, task in calls), say("Done.")])

    kaa.run("-p", "hi")

    unknown, empty, powerless = results(server)
    assert "There is no agent 'nobody'. Agents: explore, general, review, scribe." in unknown
    assert "The task is empty" in empty
    assert "The agent scribe cannot be run: none of the tools of its definition is there." in powerless


def test_the_user_sees_the_agents(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, more="permission: read-only")
    server.begin([call("agent", agent="scribe", task="Work."), say("Seen."), say("Done.")])

    kaa.run("-p", "hi")
    shown = kaa.run("-c", "-p", "/agents").out

    assert "  explore: searches, changes nothing\n" in shown
    assert "  scribe: Writes notes (read-only; tools: read, write, bash)" in shown


def test_an_agent_that_ends_early_returns_what_it_said(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, more="maxTurns: 1")
    server.begin(
        [
            call("agent", agent="scribe", task="Work."),
            call("bash", command="true"),
            say("Done."),
        ]
    )

    kaa.run("-p", "hi")

    assert "ended early (" in results(server)[0]
    assert "1 turn" in results(server)[0]


def test_the_user_chooses_the_small_model(kaa: Kaa, server: ModelServer) -> None:
    models = json.loads((kaa.home / "models.json").read_text())
    [provider] = models["providers"].values()
    provider["models"].append({"id": "tiny"})
    (kaa.home / "models.json").write_text(json.dumps(models))
    kaa.settings(smallModel="tiny")
    server.begin([call("agent", agent="explore", task="Look."), say("Seen."), say("Done.")])

    kaa.run("-p", "hi")

    assert request(server, 1)["model"] == "tiny"
    assert request(server, 2)["model"] != "tiny"


def test_agents_of_one_reply_run_at_the_same_time(kaa: Kaa, server: ModelServer) -> None:
    calls = [call("agent", agent="general", task=f"Task {number}.") for number in range(3)]
    together = Answer(calls=tuple(one for each in calls for one in each.calls))
    server.begin([together, say("One."), say("Two."), say("Three."), say("Done.")])

    kaa.run("-p", "hi")

    assert len(server.requests) == 5
    assert sorted(text.split("\n")[0] for text in results(server)) == ["One.", "Three.", "Two."]
    assert "agent" not in tools(server, 1)


@pytest.mark.parametrize(
    ("tools", "made", "refused"),
    [
        (
            "Bash(echo *), Bash(true)",
            [("bash", {"command": "echo a && true"})],
            [("bash", {"command": "echo a; touch b"}), ("bash", {"command": "echo $(touch b)"})],
        ),
        (
            "Edit(docs/**), Write(docs/**)",
            [("write", {"path": "docs/a.md", "content": "a"})],
            [("write", {"path": "b", "content": "b"}), ("write", {"path": "docs/../b", "content": "b"})],
        ),
    ],
)
def test_it_is_held_to_the_patterns_of_its_definition(
    kaa: Kaa,
    server: ModelServer,
    tools: str,
    made: list[tuple[str, dict[str, Json]]],
    refused: list[tuple[str, dict[str, Json]]],
) -> None:
    define(kaa, tools)
    calls = [call(name, **arguments) for name, arguments in (*made, *refused)]
    server.begin([call("agent", agent="scribe", task="Work."), *calls, say("Seen."), say("Done.")])

    kaa.run("--approvals", "auto", "-p", "hi")

    answers = [text for role, text in conversation(server.requests[len(calls) + 1]) if role == "tool"]
    assert ["this agent may only make calls such as" in text for text in answers] == [
        *[False] * len(made),
        *[True] * len(refused),
    ]
    assert not (kaa.project / "b").exists()
    assert "some of its calls were refused" in results(server)[0]


def test_it_makes_no_calls_that_its_definition_denies(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, "Bash, Read", "disallowedTools: Bash(touch *)")
    server.begin(
        [call("agent", agent="scribe", task="Work."), call("bash", command="touch b"), say("Seen."), say("Done.")]
    )

    kaa.run("--approvals", "auto", "-p", "hi")

    assert not (kaa.project / "b").exists()
    assert "may not make calls such as 'bash: touch *'" in conversation(server.requests[2])[-1][1]


def test_a_tool_with_a_pattern_that_cannot_be_held_is_left_out(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, "Bash(echo $HOME), Read")
    server.begin([call("agent", agent="scribe", task="Work."), say("Seen."), say("Done.")])

    kaa.run("-p", "hi")

    assert tools(server, 1) == {"read"}


@pytest.mark.parametrize(
    ("parent", "command", "has_bash"), [("Read, Agent", "true", False), ("Bash(echo *), Agent", "touch b", True)]
)
def test_agents_of_an_agent_are_held_to_its_limits(
    kaa: Kaa, server: ModelServer, parent: str, command: str, has_bash: bool
) -> None:
    define(kaa, parent)
    inner = call("agent", agent="general", task="Write.")
    script = [call("agent", agent="scribe", task="Work."), inner, call("bash", command=command)]
    server.begin([*script, say("Seen."), say("Over."), say("Done.")])

    kaa.run("--approvals", "auto", "-p", "hi")

    assert ("bash" in tools(server, 2)) == has_bash
    assert not (kaa.project / "b").exists()
    if has_bash:
        assert "this agent may only make calls such as" in conversation(server.requests[3])[-1][1]


def test_an_agent_starts_the_agents_that_its_definition_names_and_no_others(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, "Read, Agent(other), Task(EXPL*)")
    inner = [call("agent", agent=name, task="Look.") for name in ("general", "general-1a2b3c", "explore")]
    server.begin([call("agent", agent="scribe", task="Work."), *inner, say("Seen."), say("Over."), say("Done.")])

    kaa.run("-p", "hi")

    assert tools(server, 1) == {"agent", "read"}
    assert "You can start these agents only:" in conversation(server.requests[1])[0][1]
    told = [text for role, text in conversation(server.requests[5]) if role == "tool"]
    refusal = "There is no agent '{}' that this agent may start. Agents: explore."
    assert told[:2] == [refusal.format(name) for name in ("general", "general-1a2b3c")]
    assert told[2].startswith("Seen.")


def test_the_agents_of_an_agent_start_no_others_than_it_may(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, "Read, Agent(helper, explore)")
    helper = "---\nname: helper\ndescription: Helps\ntools: Read, Agent(general, explore)\n---\nHelp.\n"
    write(kaa.home / "agents", {"helper.md": helper})
    calls = [call("agent", agent=name, task="Look.") for name in ("scribe", "helper", "general", "scribe", "explore")]
    server.begin([*calls, say("Seen."), say("Helped."), say("Over."), say("Done.")])

    kaa.run("-p", "hi")

    told = [text for role, text in conversation(server.requests[6]) if role == "tool"]
    assert [text.startswith("There is no agent") for text in told] == [True, True, False]
    assert "Agents: explore." in told[0]
    assert results(server)[0].startswith("Over.")


def test_the_person_starts_any_agent_after_such_an_agent(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, "Read, Agent(explore)")
    first = [call("agent", agent="scribe", task="Work."), say("Seen.")]
    server.begin([*first, call("agent", agent="general", task="Work."), say("Worked."), say("Done.")])

    kaa.run("-p", "hi")

    assert "Worked." in results(server)[1]


def test_a_definition_with_the_name_of_kaa_s_own_can_do_no_more(kaa: Kaa, server: ModelServer) -> None:
    write(kaa.home / "agents", {"explore.md": "---\nname: explore\ndescription: Searches\n---\nSearch.\n"})
    script = [call("agent", agent="explore", task="Look."), call("bash", command="touch b"), say("Seen.")]
    server.begin([*script, say("Done.")])

    kaa.run("--approvals", "auto", "-p", "hi")

    assert "Search." in conversation(server.requests[1])[0][1] or "Search." in str(request(server, 1)["messages"][0])
    assert not (kaa.project / "b").exists()


def test_agents_that_wait_for_agents_of_their_own_keep_no_place_from_them(kaa: Kaa, server: ModelServer) -> None:
    define(kaa, "Read, Agent")
    outer = [call("agent", agent="scribe", task=f"Task {number}.") for number in range(8)]
    together = Answer(calls=tuple(one for each in outer for one in each.calls))
    inner = Answer(calls=call("agent", agent="general", task="Look.").calls, fault=Fault("stall"))
    server.begin([together, *[inner] * 8, *[say("Seen.")] * 16, say("Done.")])

    with kaa.running("-p", "hi") as process:
        server.wait_for_requests(9)
        server.release()
        out, _ = process.communicate(timeout=HANG_SECONDS)

    assert "Done." in out
    assert len(server.requests) == 26


def test_thousands_of_definitions_make_no_large_requests(kaa: Kaa, server: ModelServer) -> None:
    text = "---\nname: {name}\ndescription: {about}\n---\nWork.\n"
    many = {f"a{one}.md": text.format(name=f"a{one}" + "x" * 50, about="Does things. " * 20) for one in range(900)}
    write(kaa.home / "agents", many)
    server.begin([call("agent", agent="a899" + "x" * 50, task="Work."), say("Seen."), say("Done.")])

    kaa.run("-p", "hi")

    [described] = [one["function"] for one in request(server, 0)["tools"] if one["function"]["name"] == "agent"]
    assert len(json.dumps(described)) < 5_000
    assert "more, which the user can name" in json.dumps(described)
    assert results(server)[0].startswith("Seen.")


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
            call("bash", command="pwd; echo new > file; echo x > more"),
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
            assert conversation(server.requests[2])[-1][1].endswith(f"/{name}")
            merged = kaa.run("worktrees", "merge", "--yes", name)
            assert merged.code == 0, merged.err
            assert (kaa.project / "file").read_text() == "new\n"
            assert (kaa.project / "more").read_text() == "y"

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
            assert kaa.run("worktrees").out == ""

    def test_there_is_none_where_nothing_may_be_written(self, kaa: Kaa) -> None:
        script = [call("agent", agent="general", task="Change it", worktree=True), say("Not possible.")]
        with ModelServer(script) as server:
            kaa.use(server, "openai-completions")
            kaa.run("-p", "/plan go")

            assert "nothing can be written here" in conversation(server.requests[-1])[-1][1]


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
