"""The extensions in `examples/extensions`, each in a whole program with a scripted model."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.ext.places import ExtensionId
from tests.end_to_end.kaa_process import conversation
from tests.end_to_end.seat import Seat, enter
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def kaa(tmp_path: Path, server: ModelServer) -> Seat:
    return Seat(tmp_path, server)


def example(name: str) -> tuple[str, str]:
    return "-e", str(EXAMPLES / f"{name}.py")


def _key(name: str) -> str:
    return ExtensionId.at(EXAMPLES / f"{name}.py").key


def executable(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def last_result(server: ModelServer) -> str:
    return conversation(server.requests[-1])[-1][1]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 80


def test_there_are_ten() -> None:
    assert len(list(EXAMPLES.glob("*.py"))) == 10


def test_permission_policy(kaa: Seat, server: ModelServer) -> None:
    server.begin([call("write", path="a.lock", content="x"), call("bash", command="git push origin"), say("Done.")])

    done = kaa.run(*example("permission_policy"), "-p", "hi")

    assert done.code == 3
    assert not (kaa.project / "a.lock").exists()
    assert "a.lock may not be changed: the policy of this user forbids *.lock." in str(server.requests[1].body)
    assert "The user did not permit a command with 'git push'." in last_result(server)


def test_permission_policy_asks(kaa: Seat, server: ModelServer) -> None:
    kaa.settings(extensionSettings={_key("permission_policy"): {"ask": ["echo go"], "forbidden": []}})
    server.begin([call("bash", command="echo go"), say("Done.")])

    with rpc(kaa, *example("permission_policy")) as client:
        client.send({"type": "prompt", "message": "hi"})
        asked = client.event("extension_ui_request")
        client.send({"type": "extension_ui_response", "id": asked["id"], "confirmed": True})
        client.event("agent_end")

    assert last_result(server) == "go"


def test_format_after_edits(kaa: Seat, server: ModelServer) -> None:
    command = ["sh", "-c", 'grep -q bad "$0" && { echo "line 1: bad"; exit 1; }; echo formatted >> "$0"']
    kaa.settings(extensionSettings={_key("format_after_edits"): {"commands": {".py": command}}})
    good, bad = call("write", path="a.py", content="x\n"), call("write", path="b.py", content="bad\n")
    server.begin([good, bad, say("Done.")])

    done = kaa.run(*example("format_after_edits"), "-p", "hi")

    assert done.code == 0, done.err
    assert (kaa.project / "a.py").read_text() == "x\nformatted\n"
    assert last_result(server).endswith("sh failed on b.py:\nline 1: bad")


def test_todo_list(kaa: Seat, server: ModelServer) -> None:
    items = [{"text": "Read", "state": "done"}, {"text": "Write", "state": "active"}, {"text": "Test"}]
    with kaa.open(*example("todo_list"), script=[call("todo", items=items), say("I began.")]) as program:
        enter(program, "plan it")
        program.wait_for("I began.")
        program.wait_for("☐ Test")
    done = kaa.run(*example("todo_list"), "-c", "-p", "/todo")

    assert last_result(server) == "☑ Read\n▶ Write\n☐ Test"
    assert done.out == "☑ Read\n▶ Write\n☐ Test\n"


def test_custom_provider(kaa: Seat) -> None:
    program = kaa.home / "model"
    script = "import json, sys; said = json.load(sys.stdin)['messages'][-1]['content']; "
    script += (
        "print(json.dumps({'text': 'You said: '})); print(json.dumps({'text': said[0]['text'], 'tokens': [3, 4]}))"
    )
    executable(program, f'exec "{sys.executable}" -c "{script}"')
    kaa.setenv(LOCAL_PROGRAM=str(program))

    done = kaa.run(*example("custom_provider"), "--model", "local-program/default", "-p", "hello")

    assert (done.code, done.out) == (0, "You said: hello\n"), done.err


def test_custom_provider_that_fails(kaa: Seat) -> None:
    kaa.settings(retry={"enabled": False})
    kaa.setenv(LOCAL_PROGRAM="false")

    done = kaa.run(*example("custom_provider"), "--model", "local-program/default", "-p", "hello")

    assert done.code == 1
    assert "false ended with exit code 1" in done.err


def test_custom_provider_without_its_program(kaa: Seat) -> None:
    kaa.setenv(LOCAL_PROGRAM=str(kaa.home / "nothing"))

    done = kaa.run(*example("custom_provider"), "--model", "local-program/default", "-p", "hello")

    assert done.code == 1
    assert "nothing cannot be executed (No such file or directory): set LOCAL_PROGRAM" in done.err
    assert "retry" not in done.err


def test_ci_status(kaa: Seat, server: ModelServer) -> None:
    kaa.settings(extensionSettings={_key("ci_status"): {"command": "echo build 7 is red; false"}})

    with kaa.open(*example("ci_status")) as program:
        program.wait_for("CI fails")
        enter(program, "/ci")
        program.wait_for("build 7 is red")


def test_audit_log(kaa: Seat, server: ModelServer) -> None:
    log = kaa.home / "logs" / "audit.jsonl"
    kaa.setenv(KAA_AUDIT_LOG=str(log))
    server.begin([call("bash", command="echo hi"), say("Done.")])

    kaa.run(*example("audit_log"), "-p", "hi")

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["call", "result", "end"]
    assert lines[0]["arguments"] == {"command": "echo hi"}
    assert {line["project"] for line in lines} == {os.path.realpath(kaa.project)}


def test_ask_user(kaa: Seat, server: ModelServer) -> None:
    asked = call("ask_user", question="Which one?", options=["red", "blue"])

    with kaa.open(*example("ask_user"), script=[asked, say("Blue it is.")]) as program:
        enter(program, "paint it")
        program.wait_for("Enter chooses")
        program.press("down", "enter")
        program.wait_for("Blue it is.")

    assert last_result(server) == "blue"


def test_ask_user_without_a_user(kaa: Seat, server: ModelServer) -> None:
    server.begin([call("ask_user", question="Which one?"), say("Done.")])

    kaa.run(*example("ask_user"), "-p", "paint it")

    assert last_result(server).startswith("Nobody can answer. Decide yourself")


def test_git_commit(kaa: Seat, server: ModelServer) -> None:
    server.begin([say('{"subject": "Add a greeting"}')])
    for words in ("init -q", "config user.name n", "config user.email e@x"):
        assert os.system(f"cd '{kaa.project}' && git {words}") == 0
    (kaa.project / "hello").write_text("hi\n")
    assert os.system(f"cd '{kaa.project}' && git add hello") == 0

    with rpc(kaa, *example("git_commit")) as client:
        client.send({"type": "prompt", "message": "/commit short"})
        asked = client.event("extension_ui_request")
        client.send({"type": "extension_ui_response", "id": asked["id"], "value": f"{asked['prefill']} to all"})
        client.event("response")

    assert "The user says: short" in str(server.requests[0].body)
    with os.popen(f"cd '{kaa.project}' && git log --format=%s") as log:
        assert log.read() == "Add a greeting to all\n"


def test_snippets(kaa: Seat, server: ModelServer) -> None:
    server.begin([say("Done.")])

    saved = kaa.run(*example("snippets"), "-p", "/snippet tests Run the tests.")
    kaa.run(*example("snippets"), "-p", "Fix it. #tests #unknown")

    assert saved.out == "#tests stands for: Run the tests.\n"
    assert last_result(server) == "Fix it. Run the tests. #unknown"


def test_short_memory(kaa: Seat, server: ModelServer) -> None:
    write, fail = call("write", path="a.txt", content="x"), call("bash", command="exit 3\n# why")
    server.begin([write, fail, say("It failed."), *[say("More.")] * 4])
    kaa.settings(compaction={"keepRecentTokens": 1})

    with rpc(kaa, *example("short_memory")) as client:
        for text in ("begin", "go on", "and on"):
            client.prompt(text)
        compacted = client.data("compact")

    assert "Changed: a.txt\nFailed: exit 3" in str(compacted["summary"])
