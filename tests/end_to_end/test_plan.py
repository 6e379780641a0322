"""`/plan`: a plan is made where nothing can be changed, and executed step by step until each check succeeds."""

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("elsewhere", "mounts")

PLAN = """\
# Plan: Greet the world

Two files.

## 1. Write the greeting

- Files: `hello.txt`
- Check: `grep -q hello hello.txt`
- Expect: success

## 2. Write the name

- Files: `name.txt`
- Check: `grep -q world name.txt || { echo no world; exit 3; }`
"""


def told(server: ModelServer, number: int = -1) -> str:
    """What the model was told last in a request."""
    return conversation(server.requests[number])[-1][1]


def everything(server: ModelServer, number: int = -1) -> str:
    return "\n".join(text for _, text in conversation(server.requests[number]))


def planned(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say(PLAN)])
    assert kaa.run("-p", "/plan Greet the world").code == 0


def test_the_planner_can_change_nothing_and_its_plan_is_kept(kaa: Kaa, server: ModelServer) -> None:
    script = [
        call("bash", command="touch made; git init . ; echo over"),
        call("write", path="made.txt", content="x"),
        say(f"I looked at everything.\n\n{PLAN}"),
    ]
    server.begin(script)

    finished = kaa.run("-p", "/plan Greet the world")

    assert list(kaa.project.iterdir()) == []
    assert "[Plan mode]" in everything(server, 0)
    assert told(server, 0) == "Greet the world"
    refusals = everything(server)
    assert "it writes in the project. kaa plans now and changes nothing. You plan now" in refusals
    assert "full-access" not in refusals
    assert "outside bash" not in refusals
    assert "Plan with 2 steps" in finished.err
    shown = kaa.run("-c", "-p", "/plan").out
    assert shown.startswith("# Plan: Greet the world\n\nTwo files.")
    assert "I looked at everything" not in shown


def test_a_plan_is_executed_without_the_conversation_about_it(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("write", path="early.txt", content="x"), say("Done."), say(PLAN)])
    kaa.run("-p", "work")
    assert kaa.run("-c", "-p", "/plan Greet the world").code == 0
    server.begin(
        [
            call("write", path="hello.txt", content="hello"),
            say("Done."),
            say("All done!"),
            call("write", path="name.txt", content="world"),
            call("write", path="other.txt", content="x"),
            say("Done now."),
        ]
    )

    finished = kaa.run("-c", "-p", "/plan run")

    assert "[Plan mode]" not in everything(server)
    assert "Now step 1: Write the greeting" in everything(server, 0)
    assert told(server, 2).startswith("Step 1 is done. Now step 2:\n\n## 2. Write the name")
    assert "no world" in told(server, 3)
    assert len(server.requests) == 6
    assert finished.code == 0, finished.err
    assert "Plan executed: 2 steps done." in finished.err
    assert "Step 1 is done: `" in finished.err
    assert "not named by the plan: other.txt" in finished.err
    assert kaa.run("-c", "-p", "/plan").out.count("- Status: done") == 2


def test_a_step_that_fails_returns_to_the_planner(kaa: Kaa, server: ModelServer) -> None:
    planned(kaa, server)
    other = call("write", path="other.txt", content="x")
    server.begin([call("write", path="hello.txt", content="hello"), other, *[say("Done.")] * 6])

    finished = kaa.run("-c", "-p", "/plan run")

    assert finished.code == 1
    assert "not named by the plan: other.txt" in finished.err
    assert "Step 2 of the plan failed: Write the name" in finished.err
    assert "no world" in finished.err
    assert len(server.requests) == 6  # the same result three times is enough
    entries = [json.loads(line) for line in kaa.session_text.splitlines()]
    checks = [one["data"]["commands"] for one in entries if one.get("customType") == "kaa.builtin.plan:checks"]
    assert [[command["result"] for command in commands] for commands in checks] == [["passed"], *[["failed"]] * 3]
    assert "no world" in checks[-1][0]["missing"]

    revised = PLAN.replace("- Expect: success", "- Status: done").replace("name.txt", "hello.txt")
    server.begin([say(revised)])
    assert kaa.run("-c", "-p", "/plan revise").code == 0
    assert "Greet the world" in everything(server, 0)  # it has the conversation about the plan again
    assert "- Status: failed" in told(server, 0)
    more = [{"oldText": "hello", "newText": "hello world"}]
    server.begin([call("edit", path="hello.txt", edits=more), say("Done.")])
    finished = kaa.run("-c", "-p", "/plan run")
    assert "Now step 2: Write the name" in everything(server, 0)
    assert finished.code == 0, finished.err


def test_an_interrupted_execution_goes_on(kaa: Kaa, server: ModelServer) -> None:
    planned(kaa, server)
    server.begin([call("write", path="hello.txt", content="hello"), say("Done."), call("bash", command="sleep 600")])
    with kaa.running("-c", "-p", "/plan run") as process:
        while "Step 1 is done" not in kaa.session_text:
            assert process.poll() is None
            time.sleep(0.01)

    server.begin([call("write", path="name.txt", content="world"), say("Done.")])
    finished = kaa.run("-c", "-p", "/plan run")

    assert "Now step 2: Write the name" in told(server, 0)
    assert "Plan executed" in finished.err


def test_what_is_no_plan_goes_back_to_the_model(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say(PLAN.replace("Expect: success", "Status: perhaps")), say(PLAN)])

    finished = kaa.run("-p", "/plan Greet the world")

    assert "Step 1: it has the status 'perhaps': use pending, in progress, done, failed." in told(server, 1)
    assert "Plan with 2 steps" in finished.err


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        ("# Plan: fix\n\n1. Do a\n2. Do b", "It has no step: `## 1. What the step does`."),
        ("## 1. Do a\n\n- Check: `true`", "It does not begin with its goal: `# Plan: GOAL`."),
    ],
)
def test_a_reply_that_only_begins_like_a_plan_goes_back_once(
    kaa: Kaa, server: ModelServer, reply: str, missing: str
) -> None:
    server.begin([say(reply), say(PLAN)])
    assert kaa.run("-p", "--plan", "plan.md", "Greet the world").code == 0
    assert missing in told(server, 1)
    assert (kaa.project / "plan.md").read_text() == PLAN

    server.begin([say(reply), say(reply), say("never asked")])
    finished = kaa.run("-p", "/plan Greet the world")
    assert (finished.code, len(server.requests)) == (1, 2)
    assert missing in finished.err


def test_plans_of_files_are_made_and_executed_headless(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say(PLAN)])
    made = kaa.run("-p", "--plan", "plan.md", "Greet the world")
    assert made.code == 0, made.err
    assert (kaa.project / "plan.md").read_text() == PLAN
    assert kaa.run("-p", "--plan", "plan.md", "Again").code == 1
    assert len(server.requests) == 1

    server.begin([call("write", path="hello.txt", content="hello"), *[say("Done.")] * 5])
    assert kaa.run("plan", "run", "plan.md").code == 1
    assert "Status: done" in (kaa.project / "plan.md").read_text()
    assert "Status: failed" in (kaa.project / "plan.md").read_text()

    server.begin([call("write", path="name.txt", content="world"), say("Done.")])
    finished = kaa.run("plan", "run", "plan.md")
    assert "Now step 2: Write the name" in told(server, 0)
    assert finished.code == 0, finished.err
    assert (kaa.project / "plan.md").read_text().count("- Status: done") == 2


def test_without_a_plan_the_file_is_not_written(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("I do not know.")])

    finished = kaa.run("-p", "--plan", "plan.md", "Greet the world")

    assert finished.code == 1
    assert "The reply has no step (`## 1. What the step does`), so plan.md was not written" in finished.err


def test_nonsense_and_a_plan_that_another_executes_are_refused(kaa: Kaa, server: ModelServer) -> None:
    plan = kaa.project / "plan.md"
    plan.write_text("Nonsense.\n")
    assert "It has no step" in kaa.run("plan", "run", "plan.md").err
    assert "there is no file 'missing.md'" in kaa.run("plan", "run", "missing.md").err
    plan.write_text(PLAN)

    descriptor = os.open(plan, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        refused = kaa.run("plan", "run", "plan.md")
    finally:
        os.close(descriptor)

    assert refused.code == 1
    assert "another kaa executes" in refused.err
    assert server.requests == []


def test_a_plan_that_changes_during_its_execution_is_not_overwritten(kaa: Kaa, server: ModelServer) -> None:
    plan = Path(kaa.project / "plan.md")
    plan.write_text(PLAN)
    server.begin(
        [
            call("bash", command="echo hello > hello.txt; echo world > name.txt; echo '# Mine' > plan.md"),
            say("Done."),
            say("Done."),
        ]
    )

    finished = kaa.run("plan", "run", "plan.md")

    assert plan.read_text() == "# Mine\n"
    assert "it was changed meanwhile" in finished.err
    assert finished.code == 0


def test_the_model_is_told_when_the_mode_ends(kaa: Kaa, server: ModelServer) -> None:
    planned(kaa, server)
    server.begin([call("write", path="made.txt", content="x"), say("Made.")])

    kaa.run("-c", "-p", "/plan off", "Make it without a plan")

    assert "[Plan mode is over]" in everything(server, 0)
    assert (kaa.project / "made.txt").exists()
