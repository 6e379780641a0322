"""kaa with a model server on this machine of which only the port is known, and whose model writes its calls as text."""

import msgspec
import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, say

pytestmark = pytest.mark.usefixtures("full_access")


def _port(server: ModelServer) -> str:
    return server.url.rpartition(":")[2]


def test_a_written_call_is_run_and_answered_like_any_other(kaa: Kaa) -> None:
    (kaa.project / "a.txt").write_text("the content of a\n")
    call = '{"name": "read", "arguments": {"path": "a.txt",}}'
    with ModelServer([say(f"I look.\n<tool_call>\n{call}\n</tool_call>"), say("It says so.")]) as server:
        done = kaa.run("--model", f":{_port(server)}", "-p", "what is in a.txt?")

        assert (done.code, done.out) == (0, "I look.\nIt says so.\n")
        _, reply, result = server.requests[1].json["messages"][1:]
        assert reply["tool_calls"][0]["function"]["name"] == "read"
        assert msgspec.json.decode(reply["tool_calls"][0]["function"]["arguments"]) == {"path": "a.txt"}
        assert result["role"] == "tool"
        assert "the content of a" in str(result["content"])


def test_thinking_in_the_text_is_no_part_of_the_answer(kaa: Kaa) -> None:
    with ModelServer([say("<th", "ink>\nI won", "der.</thi", "nk>\n\nYes", ".")]) as server:
        done = kaa.run("--model", f":{_port(server)}", "-p", "is it?")

    assert (done.code, done.out) == (0, "Yes.\n")
    assert '"type":"thinking"' in kaa.session_text
    assert "think>" not in kaa.session_text


def test_a_session_goes_on_with_the_server_it_began_with(kaa: Kaa) -> None:
    with ModelServer([say("one"), say("two")]) as server:
        kaa.run("--model", f":{_port(server)}", "-p", "count")
        done = kaa.run("-c", "-p", "go on")

        assert (done.code, done.out) == (0, "two\n")
        # It may be a stranger's session, and anything may listen there.
        assert "go to that port of this machine" in done.err
        assert f"local:{_port(server)}" in kaa.session_text


def test_a_server_that_wants_a_key_gets_the_one_that_was_given_with_its_name(kaa: Kaa) -> None:
    with ModelServer([say("one"), say("two")], api_key="k123") as server:
        without = kaa.run("--model", f":{_port(server)}", "-p", "hi")
        wrong = kaa.run("--model", f":{_port(server)}", "--api-key", "k321", "-p", "hi")
        right = kaa.run("--model", f":{_port(server)}", "--api-key", "k123", "-p", "hi")
        unnamed = kaa.run("-c", "--api-key", "k123", "-p", "hi")

    assert f"the server at 127.0.0.1:{_port(server)} wants an API key" in without.err
    assert f"--model :{_port(server)} --api-key KEY" in without.err
    assert f"the server at 127.0.0.1:{_port(server)} refused the API key" in wrong.err
    assert (right.code, right.out) == (0, "one\n")
    # A session may name any port, and a key goes only to a server that was named together with it.
    assert f"--model local:{_port(server)} --api-key KEY" in unnamed.err


def test_a_server_that_is_not_there_is_named(kaa: Kaa) -> None:
    with ModelServer() as server:
        port = _port(server)

    done = kaa.run("--model", f":{port}", "-p", "hi")

    assert done.code != 0
    assert f"no model server answers at 127.0.0.1:{port}" in done.err
