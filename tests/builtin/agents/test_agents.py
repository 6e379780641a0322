"""The tool `agent` in conversations: which agents can be started, what they get and may do, and what comes back."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from kaa.builtin.agents.running import definition_named, tools_of
from kaa.components.agent_definition import AgentDefinition
from kaa.core.events import AgentEnd
from kaa.core.messages import Json
from kaa.shell.conversation import CommandReply, Conversation, SubmitOutcome
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.end_to_end.kaa_process import conversation
from tests.support.extension_sources import write
from tests.support.model_script import Answer, Fault
from tests.support.model_server import ScriptItem, call, say
from tests.support.notices import Notices
from tests.support.stage import Stage

_DEFINITION = """\
---
name: scribe
description: Writes notes
tools: {tools}
{more}
---
You are a scribe.
"""


class Agents:
    """Conversations in which agents are started.

    Attributes:
        executed: the command lines of `bash`, in their order.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.executed: list[str] = []
        stage.commands = self._run

    def _run(self, command: CommandRequest) -> CommandResult:
        if len(command.argv) != 3:  # what kaa itself wants to know
            return CommandResult(127, None, b"", 0, 0)
        self.executed.append(command.argv[-1])
        return CommandResult(0, None, b"ok\n", 3, 1)

    def define(self, tools: str = "Read, Write, Bash", more: str = "") -> None:
        """Write a definition of the user's."""
        write(self.stage.home / "agents", {"scribe.md": _DEFINITION.format(tools=tools, more=more)})

    def play(self, script: Sequence[ScriptItem], message: str = "hi") -> SubmitOutcome:
        """Submit a message to a model that follows a script."""
        self.stage.server.begin(script)
        return self.stage.play(lambda opened: opened.submit(message), ConversationOptions(model="m", approvals="auto"))

    def request(self, number: int) -> dict[str, Any]:
        """The body of a request to the model."""
        body: dict[str, Any] = self.stage.server.requests[number].json
        return body

    def tools(self, number: int) -> set[str]:
        """The tools that a request offers."""
        return {tool["function"]["name"] for tool in self.request(number).get("tools", ())}

    def results(self, number: int = -1) -> list[str]:
        """The results of tools in a request."""
        return [text for role, text in conversation(self.stage.server.requests[number]) if role == "tool"]


@pytest.fixture
def agents(stage: Stage) -> Agents:
    return Agents(stage)


def test_an_agent_has_the_instructions_of_its_skills_from_the_beginning(agents: Agents) -> None:
    agents.stage.display = notices = Notices()
    skill = "---\nname: {name}\ndescription: Notes\n{more}---\nNumber the lines of {name}.\n"
    write(agents.stage.home / "skills", {"notes/SKILL.md": skill.format(name="notes", more="")})
    own = skill.format(name="own", more="disable-model-invocation: true\n")
    write(agents.stage.home / "skills", {"own/SKILL.md": own})
    agents.define(more="skills: notes, own, missing")
    agents.play([call("agent", agent="scribe", task="Write."), say("Written."), say("Done.")])

    prompt = agents.request(1)["messages"][0]["content"]
    assert prompt.index("You are a scribe.") < prompt.index("Number the lines of notes.")
    assert "lines of own" not in prompt
    for name in ("own", "missing"):
        assert f"works without the skill {name}" in notices


def test_what_an_agent_changed_is_told(agents: Agents) -> None:
    agents.define()
    agents.play(
        [
            call("agent", agent="scribe", task="Write."),
            call("write", path="note.txt", content="x"),
            say("Written."),
            say("Done."),
        ]
    )

    assert agents.stage.workspace.files["/project/note.txt"] == b"x"
    assert "; it edited note.txt]" in agents.results()[0]
    assert agents.request(1)["messages"][0]["content"].startswith("You are a scribe.")


def test_an_agent_does_not_get_a_tool_that_a_hash_tells_from_one_it_shall_not_have() -> None:
    names = ["mcp__s__read_file", "mcp__s__read_file_0123ab", "mcp__s__search"]
    definition = AgentDefinition("one", "", "", "claude", tools=("mcp__s__*",), excluded_tools=("mcp__s__read_file",))

    assert tools_of(definition, names, ()) == ["mcp__s__search"]


def test_an_agent_of_a_plugin_is_found_without_its_plugin_where_only_one_has_the_name() -> None:
    simple, ours, theirs = (AgentDefinition(name, "", "", "claude") for name in ("p:simple", "p:test", "q:test"))
    definitions = {one.name: one for one in (simple, ours, theirs)}

    assert definition_named("simple", definitions) == simple
    assert definition_named("test", definitions) is None
    assert definition_named("", definitions) is None


def test_what_cannot_be_run_says_why(agents: Agents) -> None:
    agents.define(tools="mcp__nothing__at_all")
    calls = [("nobody", "Work."), ("scribe", " "), ("scribe", "Work.")]
    agents.play([*(call("agent", agent=agent, task=task) for agent, task in calls), say("Done.")])

    unknown, empty, powerless = agents.results()
    assert "There is no agent 'nobody'. Agents: explore, general, review, scribe." in unknown
    assert "The task is empty" in empty
    assert "The agent scribe cannot be run: none of the tools of its definition is there." in powerless


def test_one_that_has_no_session_cannot_go_on(agents: Agents) -> None:
    names = ("explore-000000", "../explore-000000", "explore-", "general-..")

    agents.play([*(call("agent", agent=name, task="Go on.") for name in names), say("Done.")])

    assert ["There is no agent" in text for text in agents.results()] == [True] * len(names)
    assert list(agents.stage.home.glob("sessions/*/*.jsonl"))
    assert not list(agents.stage.home.glob("sessions/*/*.jsonl.agents"))


def test_the_user_sees_the_agents(agents: Agents) -> None:
    agents.define(more="permission: read-only")

    shown = agents.play([], "/agents")

    assert isinstance(shown, CommandReply)
    assert "  explore: searches, changes nothing\n" in shown.text
    assert "  scribe: Writes notes (read-only; tools: read, write, bash)" in shown.text


def test_an_agent_at_its_limit_of_turns_has_one_more_for_its_report(agents: Agents) -> None:
    agents.define(more="maxTurns: 1")
    agents.play(
        [
            call("agent", agent="scribe", task="Work."),
            call("bash", command="true"),
            say("Half of it is done."),
            say("Done."),
        ]
    )

    assert agents.request(2)["messages"][-1]["content"].startswith("You have reached the limit of 1 turn.")
    assert agents.results()[0].startswith("It stopped at its limit of 1 turn, and reports what it has.\n\nHalf of it")
    assert "2 turns" in agents.results()[0]


def test_an_agent_that_writes_no_report_then_ends_early(agents: Agents) -> None:
    agents.define(more="maxTurns: 1")
    agents.play(
        [
            call("agent", agent="scribe", task="Work."),
            call("bash", command="true"),
            call("bash", command="true"),
            say("Done."),
        ]
    )

    assert "ended early (budget)" in agents.results()[0]


def test_the_user_chooses_the_small_model(agents: Agents) -> None:
    models = [{"id": "m"}, {"id": "tiny"}]
    url = f"{agents.stage.server.url}/v1"
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": models}
    files = {"models.json": {"providers": {"test": provider}}, "settings.json": {"smallModel": "tiny"}}
    write(agents.stage.home, {name: json.dumps(content) for name, content in files.items()})
    agents.play([call("agent", agent="explore", task="Look."), say("Seen."), say("Done.")])

    assert agents.request(1)["model"] == "tiny"
    assert agents.request(2)["model"] != "tiny"


def test_agents_of_one_reply_run_at_the_same_time(agents: Agents) -> None:
    calls = [call("agent", agent="general", task=f"Task {number}.") for number in range(3)]
    together = Answer(calls=tuple(one for each in calls for one in each.calls))
    agents.play([together, say("One."), say("Two."), say("Three."), say("Done.")])

    assert len(agents.stage.server.requests) == 5
    assert sorted(text.split("\n")[0] for text in agents.results()) == ["One.", "Three.", "Two."]
    assert "agent" not in agents.tools(1)


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
    agents: Agents,
    tools: str,
    made: list[tuple[str, dict[str, Json]]],
    refused: list[tuple[str, dict[str, Json]]],
) -> None:
    agents.define(tools)
    calls = [call(name, **arguments) for name, arguments in (*made, *refused)]
    agents.play([call("agent", agent="scribe", task="Work."), *calls, say("Seen."), say("Done.")])

    answers = agents.results(len(calls) + 1)
    assert ["this agent may only make calls such as" in text for text in answers] == [
        *[False] * len(made),
        *[True] * len(refused),
    ]
    assert agents.executed == [arguments["command"] for name, arguments in made if name == "bash"]
    assert "/project/b" not in agents.stage.workspace.files
    assert "some of its calls were refused" in agents.results()[0]


def test_it_makes_no_calls_that_its_definition_denies(agents: Agents) -> None:
    agents.define("Bash, Read", "disallowedTools: Bash(touch *)")
    agents.play(
        [call("agent", agent="scribe", task="Work."), call("bash", command="touch b"), say("Seen."), say("Done.")]
    )

    assert agents.executed == []
    assert "may not make calls such as 'bash: touch *'" in agents.results(2)[-1]


def test_a_tool_with_a_pattern_that_cannot_be_held_is_left_out(agents: Agents) -> None:
    agents.define("Bash(echo $HOME), Read")
    agents.play([call("agent", agent="scribe", task="Work."), say("Seen."), say("Done.")])

    assert agents.tools(1) == {"read"}


@pytest.mark.parametrize(
    ("parent", "command", "has_bash"), [("Read, Agent", "true", False), ("Bash(echo *), Agent", "touch b", True)]
)
def test_agents_of_an_agent_are_held_to_its_limits(agents: Agents, parent: str, command: str, has_bash: bool) -> None:
    agents.define(parent)
    inner = call("agent", agent="general", task="Write.")
    script = [call("agent", agent="scribe", task="Work."), inner, call("bash", command=command)]
    agents.play([*script, say("Seen."), say("Over."), say("Done.")])

    assert ("bash" in agents.tools(2)) == has_bash
    assert agents.executed == []
    if has_bash:
        assert "this agent may only make calls such as" in agents.results(3)[-1]


def test_an_agent_starts_the_agents_that_its_definition_names_and_no_others(agents: Agents) -> None:
    agents.define("Read, Agent(other), Task(EXPL*)")
    inner = [call("agent", agent=name, task="Look.") for name in ("general", "general-1a2b3c", "explore")]
    agents.play([call("agent", agent="scribe", task="Work."), *inner, say("Seen."), say("Over."), say("Done.")])

    assert agents.tools(1) == {"agent", "read"}
    assert "You can start these agents only:" in conversation(agents.stage.server.requests[1])[0][1]
    told = agents.results(5)
    refusal = "There is no agent '{}' that this agent may start. Agents: explore."
    assert told[0].startswith(refusal.format("general"))
    assert told[1] == refusal.format("general-1a2b3c")
    assert told[2].startswith("Seen.")


def test_the_agents_of_an_agent_start_no_others_than_it_may(agents: Agents) -> None:
    agents.define("Read, Agent(helper, explore)")
    helper = "---\nname: helper\ndescription: Helps\ntools: Read, Agent(general, explore)\n---\nHelp.\n"
    write(agents.stage.home / "agents", {"helper.md": helper})
    calls = [call("agent", agent=name, task="Look.") for name in ("scribe", "helper", "general", "scribe", "explore")]
    agents.play([*calls, say("Seen."), say("Helped."), say("Over."), say("Done.")])

    told = agents.results(6)
    assert [text.startswith("There is no agent") for text in told] == [True, True, False]
    assert "Agents: explore." in told[0]
    assert agents.results()[0].startswith("Over.")


def test_the_person_starts_any_agent_after_such_an_agent(agents: Agents) -> None:
    agents.define("Read, Agent(explore)")
    first = [call("agent", agent="scribe", task="Work."), say("Seen.")]
    agents.play([*first, call("agent", agent="general", task="Work."), say("Worked."), say("Done.")])

    assert "Worked." in agents.results()[1]


def test_agents_that_wait_for_agents_of_their_own_keep_no_place_from_them(agents: Agents) -> None:
    agents.define("Read, Agent")
    outer = [call("agent", agent="scribe", task=f"Task {number}.") for number in range(8)]
    together = Answer(calls=tuple(one for each in outer for one in each.calls))
    inner = Answer(calls=call("agent", agent="general", task="Look.").calls, fault=Fault("stall"))
    server = agents.stage.server
    server.begin([together, *[inner] * 8, *[say("Seen.")] * 16, say("Done.")])

    async def scene(opened: Conversation) -> SubmitOutcome:
        run = asyncio.ensure_future(opened.submit("hi"))
        await asyncio.to_thread(server.wait_for_requests, 9)
        server.release()
        return await run

    end = agents.stage.play(scene)

    assert isinstance(end, AgentEnd)
    assert end.reason == "done"
    assert len(server.requests) == 26


def test_many_definitions_make_no_large_requests(agents: Agents) -> None:
    text = "---\nname: {name}\ndescription: {about}\n---\nWork.\n"
    many = {f"a{one}.md": text.format(name=f"a{one}" + "x" * 50, about="Does things. " * 20) for one in range(90)}
    write(agents.stage.home / "agents", many)
    agents.play([call("agent", agent="a89" + "x" * 50, task="Work."), say("Seen."), say("Done.")])

    [described] = [one["function"] for one in agents.request(0)["tools"] if one["function"]["name"] == "agent"]
    assert len(json.dumps(described)) < 5_000
    assert "more, which the user can name" in json.dumps(described)
    assert agents.results()[0].startswith("Seen.")
