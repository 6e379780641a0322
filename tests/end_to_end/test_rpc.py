"""rpc mode, driven as a client would: a real process, JSON lines in both directions."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import pausing
from tests.support.model_script import Refusal
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.rpc_client import Line, RpcClient, rpc
from tests.support.warm_start import COMMAND, KaaProcess

_UNTIL_GO = "until test -e go; do sleep 0.02; done"


class Shared:
    """A process for cases that need a session of their own and nothing else. Commands are approved."""

    def __init__(self, kaa: Kaa, server: ModelServer, client: RpcClient) -> None:
        self.kaa = kaa
        self.server = server
        self._client = client

    def client(self) -> RpcClient:
        """The client, in a new session; what earlier cases left is gone."""
        (self.kaa.project / "go").unlink(missing_ok=True)
        self._client.data("new_session")
        self._client.seen.clear()
        return self._client


@pytest.fixture(scope="module")
def shared(tier: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    kaa = Kaa(tmp_path_factory.mktemp("shared"))
    kaa.settings(sandbox={"mode": "full-access"})
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        with rpc(kaa, "--approvals", "auto") as client:
            yield Shared(kaa, server, client)


def texts(client: RpcClient) -> list[str]:
    """What the model said, as it grew."""
    updates = (line["assistantMessageEvent"] for line in client.seen if line.get("type") == "message_update")
    return [update["delta"] for update in updates if update["type"] == "text_delta"]


def said(client: RpcClient, command: str) -> str:
    """The reply of a slash command."""
    assert client.data("prompt", message=command) == {"disposition": "handled"}
    text: str = next(line["text"] for line in reversed(client.seen) if line.get("type") == "command_reply")
    return text


def test_a_prompt_is_answered_with_events(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Hello.")])

    with rpc(kaa) as client:
        end = client.prompt("hi")
        code, err = client.end()

    assert (code, err) == (0, "")
    assert [message["role"] for message in end["messages"]] == ["user", "assistant"]
    assert end["willRetry"] is False
    assert "".join(texts(client)) == "Hello."
    order = [line["type"] for line in client.seen]
    assert order.index("response") < order.index("message_end")
    assert order[-2:] == ["agent_end", "agent_settled"]
    assert client.seen[-1] == {"type": "agent_settled", "aborted": False}
    assert next(line for line in client.seen if line["type"] == "turn_end")["toolResults"] == []


def test_the_state_names_model_session_and_queues(shared: Shared) -> None:
    client = shared.client()
    state = client.data("get_state")

    assert state["model"]["provider"] == "test"
    assert state["isStreaming"] is False
    assert (state["steeringMode"], state["followUpMode"]) == ("one-at-a-time", "one-at-a-time")
    assert (state["messageCount"], state["pendingMessageCount"]) == (0, 0)
    assert state["autoCompactionEnabled"] is True


def test_steering_and_follow_ups_reach_the_model(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([call("bash", command=_UNTIL_GO), say("One."), say("Two.")])

    client.data("prompt", message="go")
    client.event("tool_execution_start")
    assert "streamingBehavior" in client.error("prompt", message="and this?")
    assert client.data("steer", message="faster") == {"disposition": "queued"}
    assert client.data("prompt", message="then stop", streamingBehavior="followUp") == {"disposition": "queued"}
    assert client.data("get_state")["pendingMessageCount"] == 2
    (shared.kaa.project / "go").touch()
    client.event("agent_settled")

    said = [text for who, text in conversation(shared.server.requests[-1]) if who == "user"]
    assert said == ["go", "faster", "then stop"]


def test_messages_that_wait_can_be_taken_back(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([call("bash", command=_UNTIL_GO), say("Done.")])

    client.data("prompt", message="go")
    client.event("tool_execution_start")
    client.data("steer", message="one")
    client.data("follow_up", message="two")
    assert client.data("clear_queue") == {"steering": ["one"], "followUp": ["two"]}
    (shared.kaa.project / "go").touch()
    client.event("agent_settled")


def test_abort_ends_the_run(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([call("bash", command="sleep 60")])

    client.data("prompt", message="go")
    client.event("tool_execution_start")
    client.send({"type": "abort"})
    turn, end, settled = (client.event(kind) for kind in ("turn_end", "agent_end", "agent_settled"))

    assert [result["toolName"] for result in turn["toolResults"]] == ["bash"]
    assert end["reason"] == "aborted"
    assert settled["aborted"] is True


def test_abort_answers_when_all_has_ended_and_keeps_what_waits(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([call("bash", command="sleep 60"), say("Done."), say("Done.")])

    client.data("prompt", message="go")
    client.event("tool_execution_start")
    client.data("steer", message="faster")
    client.data("follow_up", message="later")
    client.data("abort")
    settled = [line["type"] for line in client.seen].count("agent_settled")
    waiting = client.data("get_state")["pendingMessageCount"]
    client.prompt("again")

    said = [text for who, text in conversation(shared.server.requests[-1]) if who == "user"]
    assert (settled, waiting) == (1, 2)
    assert sorted(said) == ["again", "faster", "go", "later"]


def test_abort_retry_stops_nothing_but_a_retry(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(retry={"baseDelayMs": 600_000})
    server.begin([pausing("One", "."), Refusal(503)])

    with rpc(kaa) as client:
        client.data("prompt", message="first")
        client.event("message_update")
        client.data("abort_retry")
        server.release()
        first = client.event("agent_end")
        client.event("agent_settled")
        client.data("prompt", message="second")
        client.event("auto_retry_start")
        client.send({"type": "abort_retry"})
        second = client.event("agent_end")

    assert (first["reason"], second["reason"]) == ("done", "aborted")


def test_events_have_the_fields_that_clients_of_pi_read(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([call("bash", command="echo one; sleep 0.5; echo two"), say("Hel", "lo.")])

    client.prompt("go")
    ran = client.ask("bash", command="echo three")
    client.data("set_session_name", name="a name")
    client.data("set_session_name", name="")
    stats = client.data("get_session_stats")

    updates = [line for line in client.seen if line["type"] == "message_update"]
    changes = [line["assistantMessageEvent"] for line in updates]
    assert all(line["usage"]["totalTokens"] == 0 for line in updates)
    assert [change["toolName"] for change in changes if change["type"] == "toolcall_start"] == ["bash"]
    assert [change["content"] for change in changes if change["type"] == "text_end"] == ["Hello."]
    tools = [line for line in client.seen if line["type"] == "tool_execution_update"]
    assert "".join(line["partialResult"]["content"][0]["text"] for line in tools) == "one\ntwo\n"
    output = [line for line in client.seen if line["type"] == "bash_execution_update"]
    assert {(line["id"], line["delta"]) for line in output} == {(ran["id"], "three\n")}
    renamed = [line for line in client.seen if line["type"] == "session_info_changed"]
    assert [line.get("name") for line in renamed] == ["a name", None]
    assert "name" not in renamed[-1]
    assert (stats["userMessages"], stats["toolCalls"], stats["toolResults"]) == (1, 1, 1)


def test_commands_say_where_they_come_from(kaa: Kaa, server: ModelServer) -> None:
    extension(kaa, _TALKATIVE)

    with rpc(kaa) as client:
        commands = {command["name"]: command for command in client.data("get_commands")["commands"]}

    path = str(kaa.home / "extensions" / "mine.py")
    assert commands["talk"]["sourceInfo"] == {"path": path, "source": "local", "scope": "user", "origin": "top-level"}
    assert commands["undo"]["sourceInfo"]["path"] == "builtin:undo"


def test_a_run_is_settled_once_and_commands_that_run_nothing_are_not(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([call("bash", command="sleep 60"), say("Done.")])

    client.data("prompt", message="go")
    client.event("tool_execution_start")
    client.data("abort")
    client.data("prompt", message="/cost")
    client.error("prompt", message="/redo now")
    client.prompt("again")
    client.data("get_state")

    settled = [line["aborted"] for line in client.seen if line["type"] == "agent_settled"]
    assert settled == [True, False]


def test_every_new_entry_of_the_session_is_reported(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([call("bash", command="true"), say("Done.")])

    client.prompt("go")
    client.data("set_session_name", name="a name")
    entries = client.data("get_entries")["entries"]

    assert [line["entry"] for line in client.seen if line["type"] == "entry_appended"] == entries


def test_a_failure_of_an_extension_is_reported_once_with_its_path(kaa: Kaa, server: ModelServer) -> None:
    extension(kaa, _FAILING)
    server.begin([call("bash", command="true"), say("Done.")])

    with rpc(kaa, "--approvals", "auto") as client:
        client.prompt("go")

    (failed,) = [line for line in client.seen if line["type"] == "extension_error"]
    path = str(kaa.home / "extensions" / "mine.py")
    assert failed == {
        "type": "extension_error",
        "extensionPath": path,
        "event": "before_tool hook",
        "error": "failed: ValueError: bug (line 3; KAA_LOG=FILE logs the traceback)",
        "conversation": "1",
    }
    assert not any(line["type"] == "extension_ui_request" for line in client.seen)
    refused = f"bash was not run: Extension {path}: before_tool hook {failed['error']}. Tell the user."
    assert ("tool", refused) in conversation(server.requests[-1])


class TestQuestions:
    def test_an_approval_is_a_dialog_that_pi_knows(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([call("bash", command="touch made"), say("Done.")])

        with rpc(kaa, "--approvals", "ask") as client:
            client.data("prompt", message="go")
            asked = client.event("extension_ui_request")
            client.send({"type": "extension_ui_response", "id": asked["id"], "value": "Allow once"})
            end = client.event("agent_end")

        assert asked["method"] == "select"
        assert "Allow bash?" in asked["title"]
        assert asked["question"]["kind"] == "approval"
        assert asked["question"]["arguments"] == {"command": "touch made"}
        assert end["reason"] == "done"
        assert (kaa.project / "made").exists()

    def test_the_title_shows_all_that_would_run(self, kaa: Kaa, server: ModelServer) -> None:
        hidden = "ls \\\n-l; touch \x1b[1Amade"
        server.begin([call("bash", command=hidden), say("I see.")])

        with rpc(kaa, "--approvals", "ask") as client:
            client.data("prompt", message="go")
            asked = client.event("extension_ui_request")
            client.data("abort")

        lines = asked["title"].split("\n")
        assert lines[-3:] == ["command:", "| ls \\", "| -l; touch \\x1b[1Amade"]

    def test_an_answer_of_kaas_own_is_taken_too(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([call("bash", command="touch made"), say("I see.")])

        with rpc(kaa, "--approvals", "ask") as client:
            client.data("prompt", message="go")
            asked = client.event("extension_ui_request")
            answer = {"kind": "deny", "reason": "use another name"}
            client.send({"type": "extension_ui_response", "id": asked["id"], "answer": answer})
            client.event("agent_end")

        assert not (kaa.project / "made").exists()
        assert any("use another name" in text for _, text in conversation(server.requests[-1]))

    def test_an_answer_that_does_not_fit_is_refused_and_asked_again(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([call("bash", command="touch made"), say("Done.")])

        with rpc(kaa, "--approvals", "ask") as client:
            client.data("prompt", message="go")
            asked = client.event("extension_ui_request")
            client.send({"type": "extension_ui_response", "id": asked["id"], "value": "Maybe"})
            refused = client.event("response")
            client.send({"type": "extension_ui_response", "id": asked["id"], "cancelled": True})
            client.event("agent_end")

        assert "invalid option 'Maybe'" in refused["error"]
        assert not (kaa.project / "made").exists()

    def test_a_client_that_goes_away_has_said_no(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([call("bash", command="touch made"), say("Done.")])

        with rpc(kaa, "--approvals", "ask") as client:
            client.data("prompt", message="go")
            client.event("extension_ui_request")
            code, _ = client.end()

        assert code == 0
        assert not (kaa.project / "made").exists()

    def test_trust_is_asked_for_before_anything_of_the_project_is_used(self, kaa: Kaa, server: ModelServer) -> None:
        (kaa.project / ".kaa").mkdir()
        (kaa.project / ".kaa" / "SYSTEM.md").write_text("Speak French.")
        server.begin([say("Bonjour.")])

        with rpc(kaa, "--person-answers") as client:
            asked = client.event("extension_ui_request")
            client.send({"type": "extension_ui_response", "id": asked["id"], "value": "Trust it this time"})
            client.prompt("hi")

        assert asked["question"]["kind"] == "trust"
        assert "Speak French." in conversation_system(server)

    def test_a_program_trusts_no_project(self, kaa: Kaa, server: ModelServer) -> None:
        (kaa.project / ".kaa").mkdir()
        (kaa.project / ".kaa" / "SYSTEM.md").write_text("Speak French.")
        server.begin([say("Hello.")])

        with rpc(kaa) as client:
            told = client.event("extension_ui_request")
            client.prompt("hi")

        assert (told["method"], told["message"].partition(":")[0]) == (
            "notify",
            "The project's configuration is not trusted",
        )
        assert "--person-answers, or with --trust" in told["message"]
        assert "Speak French." not in conversation_system(server)

    def test_instructions_alone_are_not_asked_about(self, kaa: Kaa, server: ModelServer) -> None:
        (kaa.project / "AGENTS.md").write_text("Use tabs.")
        server.begin([say("Yes.")])

        with rpc(kaa) as client:
            client.prompt("hi")

        assert "<project-file" in conversation_system(server)

    def test_a_tool_of_an_extension_can_ask(self, kaa: Kaa, server: ModelServer) -> None:
        extension(kaa, _ASKING)
        server.begin([call("pick"), say("Done.")])

        with rpc(kaa, "--approvals", "auto", "--person-answers") as client:
            client.data("prompt", message="go")
            for _ in range(2):  # first whether the tool may run, as nothing confines an extension
                asked = client.event("extension_ui_request")
                value = "Allow once" if asked["question"]["kind"] == "approval" else "blue"
                client.send({"type": "extension_ui_response", "id": asked["id"], "value": value})
            client.event("agent_end")

        assert ("tool", "picked blue") in conversation(server.requests[-1])


class TestSessions:
    def test_new_fork_clone_and_switch(self, shared: Shared) -> None:
        client = shared.client()
        shared.server.begin([say("One."), say("Two."), say("Three.")])

        client.prompt("first")
        client.prompt("second")
        first = client.data("get_state")
        points = client.data("get_fork_messages")["messages"]
        forked = client.data("fork", entryId=points[1]["entryId"])
        in_fork = client.data("get_messages")["messages"]
        client.data("clone")
        cloned = client.data("get_state")
        client.data("new_session")
        new = client.data("get_state")
        client.data("switch_session", sessionPath=first["sessionFile"])
        back = client.data("get_state")

        assert [point["text"] for point in points] == ["first", "second"]
        assert forked == {"text": "second", "cancelled": False}
        assert [message["role"] for message in in_fork] == ["user", "assistant"]
        assert len({first["sessionId"], cloned["sessionId"], new["sessionId"]}) == 3
        assert (cloned["messageCount"], new["messageCount"], back["messageCount"]) == (2, 0, 4)
        assert back["sessionId"] == first["sessionId"]

    def test_entries_and_tree_are_those_of_the_file(self, shared: Shared) -> None:
        client = shared.client()
        shared.server.begin([say("One.")])

        client.prompt("first")
        entries, tree = client.data("get_entries"), client.data("get_tree")
        client.data("set_session_name", name="a name")
        state = client.data("get_state")

        assert [entry["type"] for entry in entries["entries"]][-2:] == ["message", "message"]
        assert nested(entries["entries"]) == tree["tree"]
        assert tree["leafId"] == entries["leafId"] == entries["entries"][-1]["id"]
        assert state["sessionName"] == "a name"

    def test_agents_can_be_watched_steered_and_stopped(self, kaa: Kaa, server: ModelServer) -> None:
        look = call("agent", agent="explore", task="Find the door.")
        server.begin([look, pausing("Look", "ing"), say("Done.")])

        with rpc(kaa) as client:
            client.ask("prompt", message="go")
            server.wait_until_stalled()
            [agent] = client.data("get_agents")["agents"]
            told = client.data("get_agent_transcript", agentId=agent["agent"])["transcript"]
            client.data("steer_agent", agentId=agent["agent"], message="The wall!")
            client.data("stop_agent", agentId=agent["agent"])
            client.event("agent_settled")
            server.release()
            [ended] = client.data("get_agents")["agents"]
            refused = client.error("stop_agent", agentId=agent["agent"])

        assert (agent["task"], agent["state"]) == ("Find the door.", "working")
        assert "parent" not in agent
        assert "Find the door." in told
        assert ended["state"] == "aborted"
        assert "is not at work" in refused

    def test_the_tree_has_all_branches_and_labels(self, shared: Shared) -> None:
        client = shared.client()
        shared.server.begin([say("One."), say("Two."), say("Three.")])

        client.prompt("first")
        labelled = client.data("get_tree")["leafId"]
        said(client, "/label goal")
        client.prompt("second")
        second = client.data("get_fork_messages")["messages"][1]["entryId"]
        said(client, f"/tree {second}")
        client.prompt("other")
        entries, tree = client.data("get_entries"), client.data("get_tree")["tree"]

        forks = [node for node in walked(tree) if len(node["children"]) > 1]
        (named,) = [node for node in walked(tree) if "label" in node]
        assert sorted(node["entry"]["id"] for node in walked(tree)) == sorted(one["id"] for one in entries["entries"])
        assert all(
            child["entry"]["parentId"] == node["entry"]["id"] for node in walked(tree) for child in node["children"]
        )
        assert len(forks) == 1
        assert (named["entry"]["id"], named["label"]) == (labelled, "goal")
        assert named["labelTimestamp"].endswith("Z")

    def test_a_new_session_names_its_parent(self, shared: Shared) -> None:
        client = shared.client()
        shared.server.begin([say("One."), say("Two.")])

        client.prompt("first")
        parent = client.data("get_state")["sessionFile"]
        client.data("new_session", parentSession=parent)
        client.prompt("second")
        file = client.data("get_state")["sessionFile"]

        with open(file, "rb") as lines:
            assert msgspec.json.decode(lines.readline())["parentSession"] == parent

    def test_entries_after_one_that_the_client_has(self, shared: Shared) -> None:
        client = shared.client()
        shared.server.begin([say("One."), say("Two.")])

        client.prompt("first")
        known = client.data("get_entries")["leafId"]
        client.prompt("second")
        everything = client.data("get_entries")["entries"]
        news = client.data("get_entries", since=known)["entries"]
        nothing = client.data("get_entries", since=everything[-1]["id"])
        unknown = client.error("get_entries", since="nowhere")

        assert [entry["id"] for entry in everything].index(known) == len(everything) - len(news) - 1
        assert everything[-len(news) :] == news
        assert nothing == {"entries": [], "leafId": everything[-1]["id"]}
        assert unknown == "Entry not found: nowhere"

    def test_compaction_export_and_figures(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([say("One. " * 3000), say("Two."), say("A summary.")])
        kaa.settings(compaction={"keepRecentTokens": 100})

        with rpc(kaa) as client:
            client.prompt("first " * 500)
            client.prompt("second")
            stats = client.data("get_session_stats")
            condensed = client.data("compact", customInstructions="be brief")
            page = client.data("export_html", outputPath="out.html")
            last = client.data("get_last_assistant_text")

        assert (stats["userMessages"], stats["assistantMessages"], stats["totalMessages"]) == (2, 2, 4)
        assert "A summary." in condensed["summary"]
        assert condensed["firstKeptEntryId"]
        assert page["path"].endswith("out.html")
        assert (kaa.project / "out.html").stat().st_size > 1000
        assert last == {"text": "Two."}


def test_extensions_learn_of_each_session(kaa: Kaa, server: ModelServer) -> None:
    extension(kaa, _NOTING)

    with rpc(kaa) as client:
        client.data("new_session")
        client.end()

    noted = (kaa.home / "extensions" / "noted.txt").read_text().split()
    assert noted == ["executed", "start:startup", "end:new", "start:new", "end:quit"]


def test_commands_of_the_person_run_beside(shared: Shared) -> None:
    client = shared.client()
    shared.server.begin([say("Seen.")])

    done = client.data("bash", command="echo beside")
    client.send({"id": "long", "type": "bash", "command": "echo begun; sleep 60"})
    client.wait(lambda line: line.get("type") == "bash_execution_update" and "begun" in line["delta"])
    client.data("abort_bash")
    stopped = client.wait(lambda line: line.get("id") == "long")
    client.prompt("what did I do?")

    assert (done["output"], done["exitCode"], done["cancelled"]) == ("beside", 0, False)
    assert stopped["data"]["cancelled"] is True
    assert any("echo beside" in text for _, text in conversation(shared.server.requests[-1]))


def test_commands_that_cannot_be_run_are_refused_with_the_reason(shared: Shared) -> None:
    client = shared.client()
    assert "the command is empty" in client.error("bash", command=" ")
    assert "NUL character" in client.error("bash", command="echo \0")
    assert "the session is empty" in client.error("clone")
    assert "the name has 5,000 characters" in client.error("set_session_name", name="x" * 5_000)
    assert "sessionName" not in client.data("get_state")


def test_models_and_thinking(kaa: Kaa, server: ModelServer) -> None:
    with rpc(kaa) as client:
        models = client.data("get_available_models")["models"]
        chosen = client.data("set_model", provider="test", modelId=models[0]["id"])
        unknown = client.error("set_model", provider="nowhere", modelId="nope")
        levels = client.data("get_available_thinking_levels")["levels"]
        cycled = client.ask("cycle_model")
        client.data("set_steering_mode", mode="all")
        client.data("set_auto_compaction", enabled=False)
        client.data("set_auto_retry", enabled=False)
        state = client.data("get_state")

    assert chosen["id"] == models[0]["id"]
    assert "nope" in unknown
    assert levels
    assert cycled["data"] is None
    assert state["steeringMode"] == "all"
    assert state["autoCompactionEnabled"] is False


def test_slash_commands_are_handled(shared: Shared) -> None:
    client = shared.client()
    names = [command["name"] for command in client.data("get_commands")["commands"]]
    handled = client.data("prompt", message="/cost")
    reply = next(line for line in client.seen if line.get("type") == "command_reply")
    refused = client.error("prompt", message="/undo")
    queued = client.error("steer", message="/cost")

    assert {"undo", "compact", "cost"} <= set(names)
    assert handled == {"disposition": "handled"}
    assert reply["text"]
    assert refused
    assert "prompt" in queued


def test_slash_commands_do_what_the_terminal_has_lists_for(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("One."), say("Two.")])

    with rpc(kaa) as client:
        names = {command["name"] for command in client.data("get_commands")["commands"]}
        client.prompt("first")
        model = client.data("get_state")["model"]["id"]
        switched = said(client, f"/model test/{model}")
        listed = said(client, "/settings")
        said(client, "/settings steeringMode all")
        steering = client.data("get_state")["steeringMode"]
        refused = client.error("prompt", message="/settings steeringMode sometimes")
        tree = said(client, "/tree")
        client.prompt("second")
        first = client.data("get_fork_messages")["messages"][0]["entryId"]
        said(client, f"/tree {first}")
        left = client.data("get_state")["messageCount"]
        before = client.data("get_state")["sessionId"]
        found = said(client, "/search second")
        client.data("prompt", message="/new")
        client.data("prompt", message=f"/resume {before}")
        resumed = client.data("get_state")["sessionId"]

    assert {"model", "resume", "settings", "tree", "scoped-models", "search", "reload"} <= names
    assert switched == f"test/{model} is now the model"
    assert "theme " in listed
    assert steering == "all"
    assert "steeringMode cannot be sometimes" in refused
    assert "user: first" in tree
    assert left == 0
    assert before in found
    assert resumed == before


def test_slash_commands_that_choose_ask_and_those_that_lead_elsewhere_do(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("One."), say("Two.")])

    with rpc(kaa) as client:
        client.prompt("first")
        before = client.data("get_state")["sessionId"]
        client.send({"id": "c", "type": "prompt", "message": "/approvals"})
        asked = client.event("extension_ui_request")
        client.send({"type": "extension_ui_response", "id": asked["id"], "value": "step"})
        chosen = client.event("command_reply")
        client.data("prompt", message="/clone")
        copy = client.data("get_state")
        listed = client.data("get_fork_messages")["messages"]
        mistyped = client.error("prompt", message="/aprovals auto")
        needless = client.error("prompt", message="/new with a text")
        copying = client.error("prompt", message="/copy")
        client.data("prompt", message="/new")
        new = client.data("get_state")

    assert asked["method"] == "select"
    assert set(asked["options"]) == {"plan", "read-only", "ask", "auto", "never", "step"}
    assert chosen["text"] == "approvals: step"
    assert before != copy["sessionId"] != new["sessionId"]
    assert [message["text"] for message in listed] == ["first"]
    assert new["messageCount"] == 0
    assert "did you mean /approvals?" in mistyped
    assert needless == "/new takes no arguments: enter it alone"
    assert copying == "/copy needs the interactive terminal: start kaa without -p and --mode"


class TestNothingIsLost:
    def test_what_is_queued_while_the_conversation_is_condensed_is_sent_then(
        self, kaa: Kaa, server: ModelServer
    ) -> None:
        kaa.settings(compaction={"keepRecentTokens": 100})
        server.begin([say("One. " * 3000), say("Two."), pausing("A", " summary."), say("Seen.")])

        with rpc(kaa) as client:
            client.prompt("first " * 500)
            client.prompt("second")
            client.send({"id": "c", "type": "compact"})
            client.event("compaction_start")
            assert client.data("steer", message="and this") == {"disposition": "queued"}
            server.release()
            client.event("agent_settled")

        assert conversation(server.requests[-1])[-1] == ("user", "and this")

    def test_what_waited_in_another_session_comes_back(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([call("bash", command="sleep 60")])

        with rpc(kaa, "--approvals", "auto") as client:
            client.data("prompt", message="go")
            client.event("tool_execution_start")
            client.data("steer", message="one")
            client.data("follow_up", message="two")
            client.data("new_session")
            unsent = next(line for line in client.seen if line.get("type") == "messages_unsent")

        assert unsent["messages"] == ["one", "two"]

    def test_what_waited_when_kaa_was_killed_comes_back_to_the_first_client_that_speaks(
        self, kaa: Kaa, server: ModelServer
    ) -> None:
        server.begin([call("bash", command="sleep 60"), say("Done."), say("Again.")])

        with rpc(kaa, "--approvals", "auto") as client:
            client.data("prompt", message="go")
            client.event("tool_execution_start")
            client.data("steer", message="one")
            client.data("get_state")  # by then it is on the disk; the end of the block kills
        with rpc(kaa, "-c") as silent:
            silent.event("messages_unsent")
        with rpc(kaa, "-c") as client:
            unsent = client.event("messages_unsent")
            client.prompt("one, again")
        with rpc(kaa, "-c") as last:
            last.prompt("more")

        assert unsent["messages"] == ["one"]
        assert not any(line.get("type") == "messages_unsent" for line in last.seen)

    def test_abort_dismisses_a_question(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([call("bash", command="touch made"), say("Done.")])

        with rpc(kaa, "--approvals", "ask") as client:
            client.data("prompt", message="go")
            client.event("extension_ui_request")
            client.send({"type": "abort"})
            end = client.event("agent_end")

        assert end["reason"] == "aborted"
        assert not (kaa.project / "made").exists()


def test_a_command_beside_a_prompt_is_told_apart_from_it(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Done.")])

    with rpc(kaa) as client:
        lines = ({"id": "run", "type": "prompt", "message": "go"}, {"id": "cost", "type": "prompt", "message": "/cost"})
        client.send_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        client.wait(lambda _: {"run", "cost"} <= {line.get("id") for line in client.seen})
        answers = {line["id"]: line["data"] for line in client.seen if line.get("id") in ("run", "cost")}

    assert answers == {"run": {"disposition": "started"}, "cost": {"disposition": "handled"}}


class TestBadInput:
    def test_a_line_that_is_nested_too_deep_is_refused(self, kaa: Kaa, server: ModelServer) -> None:
        with rpc(kaa) as client:
            client.send_bytes(b'{"type":"get_state","x":' + b"[" * 5000 + b"]" * 5000 + b"}\n")
            refused = client.event("response")
            assert client.data("get_state")["messageCount"] == 0

        assert refused["success"] is False

    def test_half_a_surrogate_pair_becomes_a_replacement_character(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([say("Seen.")])

        with rpc(kaa) as client:
            client.send_bytes(b'{"id":"1","type":"prompt","message":"cut \\ud83d"}\n')
            client.event("agent_end")

        assert conversation(server.requests[-1]) == [("user", "cut \ufffd")]

    def test_everything_is_answered(self, kaa: Kaa, server: ModelServer) -> None:
        with rpc(kaa) as client:
            client.send_bytes(b"not json\n")
            broken = client.event("response")
            client.send_bytes(b'{"id":"a","type":"bogus"}\n')
            bogus = client.event("response")
            client.send_bytes(b'{"id":"b","type":"prompt"}\r\n')
            incomplete = client.event("response")
            client.send_bytes(b'{"id":"c","type":"prompt","message":"\xff"}\n')
            no_text = client.event("response")
            client.send_bytes(b'[1]\n"x"\n\n')
            lists = [client.event("response") for _ in range(2)]
            client.send({"type": "extension_ui_response", "id": "nothing", "value": "x"})
            unasked = client.event("response")
            assert client.data("get_state")["messageCount"] == 0

        assert (broken["command"], broken["success"]) == ("parse", False)
        assert "id" not in broken
        assert bogus == {
            "id": "a",
            "type": "response",
            "command": "bogus",
            "success": False,
            "error": "Unknown command: bogus",
        }
        assert "message" in incomplete["error"]
        assert (incomplete["id"], incomplete["command"]) == ("b", "prompt")
        assert no_text["success"] is False
        assert [line["command"] for line in lists] == ["parse", "parse"]
        assert "no question waits" in unasked["error"]

    def test_separators_that_are_no_line_feeds_stay_in_their_line(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([say("Seen.")])
        text = "one\u2028two\u2029three\x85four"

        with rpc(kaa) as client:
            client.send_bytes(msgspec.json.encode({"id": "1", "type": "prompt", "message": text}) + b"\n")
            client.event("agent_end")

        assert ("user", text) in conversation(server.requests[-1])

    def test_a_message_on_the_command_line_is_refused(self, kaa: Kaa, server: ModelServer) -> None:
        done = kaa.run("--mode", "rpc", "hello")

        assert done.code == 2
        assert "prompt command" in done.err

    def test_a_session_that_cannot_be_opened_ends_it(self, kaa: Kaa, server: ModelServer) -> None:
        done = kaa.run("--mode", "rpc", "--session", "nothing")

        assert done.code != 0
        assert "nothing" in done.err


class TestTheEnd:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_a_signal_ends_in_order(self, kaa: Kaa, server: ModelServer, number: signal.Signals) -> None:
        server.begin([call("bash", command="sleep 60")])

        with rpc(kaa, "--approvals", "auto") as client:
            client.data("prompt", message="go")
            client.event("tool_execution_start")
            client.process.send_signal(number)
            client.event("agent_end")

            assert client.process.wait(HANG_SECONDS) == 128 + number
        assert "by the user before it" in kaa.session_text

    def test_the_end_of_the_input_stops_the_run_and_keeps_the_session(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([call("bash", command="sleep 60")])

        with rpc(kaa, "--approvals", "auto") as client:
            client.data("prompt", message="go")
            client.event("tool_execution_start")
            code, err = client.end()

        assert (code, err) == (0, "")
        assert "by the user before it" in kaa.session_text

    def test_a_client_that_does_not_read_any_more_ends_it(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([say(*["word "] * 5_000)])

        with rpc(kaa) as client:
            client.data("get_state")
            assert client.process.stdout is not None
            client.send({"type": "prompt", "message": "go"})
            client.event("agent_start")
            client.process.terminate()
            assert client.process.wait(HANG_SECONDS) in (128 + signal.SIGTERM, 0)

    def test_a_second_signal_ends_kaa_while_it_waits_for_the_client_to_read(
        self, kaa: Kaa, server: ModelServer
    ) -> None:
        extension(kaa, _TALKATIVE)
        begun = kaa.home / "extensions" / "begun"
        os.mkfifo(begun)

        with kaa.running("--mode", "rpc", stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write('{"type": "prompt", "message": "/talk"}\n')
            process.stdin.flush()
            assert begun.read_text() == "begun"
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)

            # The system may deliver them in either order.
            assert process.wait(HANG_SECONDS) in (128 + signal.SIGTERM, 128 + signal.SIGHUP)

    def test_a_signal_ends_kaa_however_slowly_the_client_reads(self, kaa: Kaa, server: ModelServer) -> None:
        kaa.limits["kaa.frontends.rpc.lines._FAREWELL_SECONDS"] = 1.0
        extension(kaa, _TALKATIVE)
        begun = kaa.home / "extensions" / "begun"
        os.mkfifo(begun)

        with kaa.running("--mode", "rpc", stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write('{"type": "prompt", "message": "/talk"}\n' + '{"type": "get_state"}\n' * 200)
            process.stdin.flush()
            assert begun.read_text() == "begun"
            process.terminate()

            _read_slowly(process, process.stdout.fileno())
            assert process.poll() == 128 + signal.SIGTERM
            assert process.stderr.read() == ""

    def test_a_signal_ends_kaa_if_nobody_reads_its_last_words(self, kaa: Kaa, server: ModelServer) -> None:
        extension(kaa, _LOUD_AT_THE_END)
        command = [COMMAND, "--mode", "rpc"]
        limits = {"kaa.frontends.interruption._LAST_WORDS_SECONDS": 0.2}
        output, errors = os.pipe()

        with (
            os.fdopen(output),
            os.fdopen(errors, "wb") as pipe,
            KaaProcess[bytes](
                command,
                cwd=kaa.project,
                env=kaa.environ,
                stdin=subprocess.PIPE,
                stdout=pipe,
                stderr=pipe,
                limits=limits,
            ) as process,
        ):
            try:
                assert process.stdin is not None
                process.stdin.write(b'{"type": "get_state"}\n')
                process.stdin.flush()
                assert os.read(output, 1) == b"{"
                process.terminate()
                assert process.wait(HANG_SECONDS) == 128 + signal.SIGTERM
            finally:
                process.kill()

    def test_output_that_cannot_be_written_is_an_error(self, kaa: Kaa, server: ModelServer) -> None:
        done = kaa.run_in_shell('echo \'{"type":"get_state"}\' | "$KAA" --mode rpc > /dev/full')

        assert (done.code, done.err) == (1, "kaa: the output cannot be written: No space left on device\n")

    def test_a_failing_server_is_told_by_events(self, kaa: Kaa, server: ModelServer) -> None:
        server.begin([Refusal(401)])

        with rpc(kaa) as client:
            end = client.prompt("hi")

        assert end["reason"] == "error"


_NOTING = """
from pathlib import Path

def note(word):
    with Path(__file__).with_name("noted.txt").open("a") as file:
        print(word, file=file)

note("executed")

def extend(api):
    async def started(start, context):
        note("start:" + start.reason)
    async def ended(end, context):
        note("end:" + end.reason)
    api.on_session_start(started)
    api.on_session_end(ended)
"""

_FAILING = """
async def broken(call, context):
    raise ValueError("bug")

def extend(api):
    api.before_tool(broken)
"""

# Says more at once than kaa keeps for a client that does not read.
_TALKATIVE = """
from pathlib import Path
from kaa.ext.api import Reply

async def talk(arguments, context):
    Path(__file__).with_name("begun").write_text("begun")
    return Reply("x" * 20_000_000)

def extend(api):
    api.register_command("talk", "Talk.", talk)
"""

_LOUD_AT_THE_END = """
import atexit
import sys

def extend(api):
    atexit.register(sys.stderr.write, "x" * 20_000_000)
"""

_ASKING = """
import msgspec
from kaa.core.tool import TypedTool, text_result
from kaa.ext.questions import Choice, Chosen

class Nothing(msgspec.Struct): pass

async def pick(arguments, context):
    answer = await context.asker.ask(Choice("Which colour?", ("red", "blue")))
    return text_result(f"picked {answer.option}" if isinstance(answer, Chosen) else "nothing picked")

def extend(api):
    api.register_tool(TypedTool("pick", "Pick a colour", Nothing, pick))
"""


def nested(entries: list[Line], parent: str | None = None) -> list[Line]:
    """The entries below one, as a tree."""
    return [
        {"entry": entry, "children": nested(entries, entry["id"])} for entry in entries if entry["parentId"] == parent
    ]


def walked(nodes: list[Line]) -> Iterator[Line]:
    """All nodes of a tree."""
    for node in nodes:
        yield node
        yield from walked(node["children"])


def _read_slowly(process: "subprocess.Popen[str]", output: int) -> None:
    """Read a little twice a second until the process ends: all of what `_TALKATIVE` says takes longer than any test."""
    for _ in range(2 * int(HANG_SECONDS)):
        os.read(output, 64 * 1024)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
            return


def extension(kaa: Kaa, source: str) -> None:
    folder = kaa.home / "extensions"
    folder.mkdir()
    (folder / "mine.py").write_text(source)


def conversation_system(server: ModelServer) -> str:
    """The system prompt of the last request."""
    body: dict[str, Json] = server.requests[-1].json
    messages: Any = body["messages"]
    return str(messages[0]["content"])
