"""Changes to files that a step of a plan does not name: asked about, or refused (`plan.otherFiles`)."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_script import ScriptItem
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import RpcClient, rpc

pytestmark = pytest.mark.usefixtures("mounts")

_PLAN = """\
# Plan: Greet the world

## 1. Write the greeting

- Files: `hello.txt`, `docs/`
- Check: `test -f hello.txt`

## 2. Write the name

- Files: `name.txt`
- Check: `test -f name.txt`
"""
_HELLO = call("write", path="hello.txt", content="hello")
_NAME = call("write", path="name.txt", content="world")
_ASIDE = call("write", path="aside.txt", content="x")


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        (kaa.project / "plan.md").write_text(_PLAN)
        yield kaa


def files(kaa: Kaa) -> set[str]:
    return {path.name for path in kaa.project.iterdir()} - {"plan.md"}


def told(server: ModelServer, number: int) -> str:
    return conversation(server.requests[number])[-1][1]


def executed(kaa: Kaa, server: ModelServer, setting: str, *answers: str, script: Sequence[ScriptItem]) -> list[str]:
    """Execute the plan with a user who answers; returns the questions."""
    kaa.settings(plan={"otherFiles": setting})
    server.begin(script)
    asked = []
    with rpc(kaa) as client:
        client.send({"type": "prompt", "message": "/plan run plan.md", "id": "1"})
        for answer in answers:
            question = _question(client)
            asked.append(question["question"]["title"])
            client.send({"type": "extension_ui_response", "id": question["id"], "value": answer})
        client.event("agent_settled")
        client.end()
    return asked


def _question(client: RpcClient) -> dict[str, Any]:
    while (asked := client.event("extension_ui_request"))["method"] != "select":
        pass
    return asked


def test_a_patch_is_refused_whole_if_a_file_of_it_is_not_named(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(plan={"otherFiles": "fail"}, defaultTools=["+apply_patch"])
    patch = "*** Begin Patch\n*** Add File: hello.txt\n+x\n*** Add File: aside.txt\n+x\n*** End Patch"
    server.begin([call("apply_patch", input=patch), _HELLO, say("First."), _NAME, say("Second.")])

    assert kaa.run("plan", "run", "plan.md").code == 0
    assert "Step 1 of the plan does not name aside.txt" in told(server, 1)
    assert files(kaa) == {"hello.txt", "name.txt"}


def test_what_the_step_names_needs_no_question(kaa: Kaa, server: ModelServer) -> None:
    docs = call("write", path="docs/a.md", content="x")
    scratch = call("bash", command="echo x > /tmp/scratch")
    script = [_HELLO, docs, scratch, say("First."), _NAME, say("Second.")]

    assert executed(kaa, server, "ask", script=script) == []
    assert files(kaa) == {"hello.txt", "name.txt", "docs"}
    assert "Status: done" in (kaa.project / "plan.md").read_text()


def test_a_change_is_asked_about_before_it_is_made(kaa: Kaa, server: ModelServer) -> None:
    again = call("edit", path="aside.txt", edits=[{"oldText": "x", "newText": "y"}])
    script = [_HELLO, _ASIDE, again, say("First."), _NAME, _ASIDE, say("Second.")]

    asked = executed(kaa, server, "ask", "Change it", "Do not change it", script=script)

    assert asked == [f"Step {number} of the plan does not name aside.txt. Change it?" for number in (1, 2)]
    assert (kaa.project / "aside.txt").read_text() == "y"
    assert "The user does not want aside.txt changed in this step. It names name.txt." in told(server, 6)


def test_any_file_can_be_allowed_for_a_step(kaa: Kaa, server: ModelServer) -> None:
    other = call("write", path="other.txt", content="x")
    early = call("bash", command="echo x > made.txt")
    script = [_ASIDE, other, early, _HELLO, say("First."), _NAME, _HELLO, say("Second.")]

    asked = executed(kaa, server, "ask", "Change any file in this step", "Change it", script=script)

    assert [title[:6] for title in asked] == ["Step 1", "Step 2"]
    assert files(kaa) == {"aside.txt", "other.txt", "made.txt", "hello.txt", "name.txt"}


def test_what_commands_changed_is_asked_about_after_the_step(kaa: Kaa, server: ModelServer) -> None:
    changing = call("bash", command="echo x > hello.txt; echo x > aside.txt")
    back = call("bash", command="rm aside.txt")
    script = [changing, say("First."), back, say("Taken back."), _NAME, call("bash", command="echo y > hello.txt")]

    asked = executed(
        kaa, server, "ask", "Have them taken back", "Keep the changes", script=[*script, say("Second."), say("End.")]
    )

    assert asked == [f"Step {number} of the plan changed 1 file that it does not name. Keep that?" for number in (1, 2)]
    assert "Step 1 changed files that it does not name: aside.txt. The user does not want that" in told(server, 2)
    assert files(kaa) == {"hello.txt", "name.txt"}
    assert "Status: done" in (kaa.project / "plan.md").read_text().split("## 2")[1]


def test_the_user_has_the_step_fail(kaa: Kaa, server: ModelServer) -> None:
    script = [call("bash", command="touch hello.txt aside.txt"), say("First.")]

    executed(kaa, server, "ask", "Fail the step", script=script)

    assert "Status: failed" in (kaa.project / "plan.md").read_text()
    assert len(server.requests) == 2


@pytest.mark.parametrize("setting", ["report", "ask"])
def test_without_a_user_it_is_reported(kaa: Kaa, server: ModelServer, setting: str) -> None:
    kaa.settings(plan={"otherFiles": setting})
    server.begin([_ASIDE, call("bash", command="touch hello.txt made.txt"), say("First."), _NAME, say("Second.")])

    done = kaa.run("plan", "run", "plan.md")

    assert done.code == 0, done.err
    assert "Changed, but not named by the plan: aside.txt, made.txt." in done.err
    assert ("Step 1 changed files that it does not name: aside.txt, made.txt" in done.err) == (setting == "ask")


def test_without_a_user_the_step_fails_on_request(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(plan={"otherFiles": "fail"})
    server.begin([_ASIDE, call("bash", command="touch hello.txt made.txt"), say("First.")])

    done = kaa.run("plan", "run", "plan.md")

    assert done.code == 1
    assert files(kaa) == {"hello.txt", "made.txt"}
    assert "it may change only the files that it names. It names hello.txt, docs/." in told(server, 1)
    assert "Step 1 changed files that it does not name: made.txt." in done.err
    assert "Status: failed" in (kaa.project / "plan.md").read_text()


def test_an_execution_that_goes_on_asks_about_the_present_step_only(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(plan={"otherFiles": "fail"})
    server.begin([call("bash", command="touch hello.txt docs"), say("First.")])  # then the model cannot be asked
    assert kaa.run("plan", "run", "plan.md").code != 0
    server.begin([_NAME, call("bash", command="touch aside.txt"), say("Second.")])

    done = kaa.run("-c", "-p", "/plan run")

    assert done.code == 1
    assert "Step 2 changed files that it does not name: aside.txt." in done.err


def test_outside_of_plans_nothing_is_asked(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(plan={"otherFiles": "fail"})
    server.begin([_ASIDE, say("Done.")])

    assert kaa.run("-p", "Write it").code == 0
    assert files(kaa) == {"aside.txt"}
