"""`/try`: agents attempt a task in worktrees, kaa compares the results, and the user takes one over."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_plan import Plan, Script
from tests.support.model_script import Fault, ScriptItem
from tests.support.model_server import WRONG_KEY, Answer, ModelServer, Received, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.rpc_client import rpc

pytestmark = pytest.mark.usefixtures("mounts")

_TASK = "/try 2 Change it --check test -f good"


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        kaa.setenv(GIT_CEILING_DIRECTORIES=str(folder))
        (kaa.project / "file").write_text("old\n")
        yield kaa


_LAST = (("I did it.",), ("Done",))


class AttemptsServer(ModelServer):
    """Keeps the last answers of the attempts for requests with a result: one attempt may end before another begins."""

    def __init__(self, script: Iterable[ScriptItem] = ()) -> None:
        super().__init__()
        self._last = Script(())
        self.begin(script)

    def begin(self, script: Iterable[ScriptItem]) -> None:
        items = list(script)
        last = [item for item in items if isinstance(item, Answer) and item.text in _LAST]
        super().begin([item for item in items if item not in last])
        self._last = Script(last)

    def answer(self, request: Received) -> Plan:
        if b'"role":"tool"' not in request.body or not self._last.remaining:
            return super().answer(request)
        self.requests.append(request)
        plan = self._last.take("openai-completions")
        self.changed()
        return plan


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    with AttemptsServer() as server:
        kaa.use(server, "openai-completions")
        yield server


def two(first: str, second: str) -> list[Answer]:
    """Two agents that run a command each; which of them is which is a matter of chance."""
    return [call("bash", command=first), call("bash", command=second), say("I did it."), say("I did it.")]


def names(kaa: Kaa) -> list[str]:
    return [path.stem for path in Path(kaa.environ["HOME"]).glob(".local/share/kaa/worktrees/*/*.json")]


def session_text(kaa: Kaa) -> str:
    """The session of the conversation, without those of its agents."""
    [path] = kaa.home.glob("sessions/*/*.jsonl")
    return path.read_text()


def is_comparison(line: dict[str, Any]) -> bool:
    return (line["type"], line.get("customType")) == ("custom", "kaa.builtin.background:attempts")


def compared(kaa: Kaa) -> list[dict[str, Any]]:
    """The attempts as the session has them, the best first: with the fewest files."""
    lines = map(json.loads, session_text(kaa).splitlines())
    [entry] = [line for line in lines if is_comparison(line)]
    return sorted(entry["data"]["attempts"], key=lambda one: one["changes"]["files"])


def test_without_a_user_attempts_are_compared_and_nothing_is_merged(kaa: Kaa, server: ModelServer) -> None:
    subprocess.run(["git", "init", "-q"], cwd=kaa.project, env=kaa.environ, check=True)
    server.begin(two("echo x > good; git init -q own; echo x > own/x", "echo y >> file; seq 3 > more"))

    done = kaa.run("-p", f"{_TASK} --check true")

    assert done.code == 0, done.err
    assert {path.name for path in kaa.project.iterdir()} - {".git"} == {"file"}
    few, many = compared(kaa)
    assert (few["passed"], few["changes"]) == (2, {"files": 1, "added": 1, "removed": 0, "left_out": ["own/"]})
    assert (many["passed"], many["changes"]) == (1, {"files": 2, "added": 4, "removed": 0, "left_out": []})
    assert "`test -f good` fails" in many["missing"]
    assert re.search(rf"{few['number']} +done +2/2 +1 +\+1 -0 +220 +\? +\d+ s", done.out)
    assert "I did it." in done.out
    assert "git ignores or cannot add it: own/\n" in done.out
    assert "Nothing was merged." in done.out
    assert sorted(names(kaa)) == sorted([few["worktree"], many["worktree"]])
    assert few["worktree"] in done.out
    asked = conversation(server.requests[0])[-1][1]
    assert asked.startswith("Change it\n")
    assert "- `test -f good`" in asked


def test_the_best_is_merged_on_request_and_can_be_taken_back(kaa: Kaa, server: ModelServer) -> None:
    server.begin([*two("echo x > good; seq 9 > more", "echo x > good"), say("I see.")])

    done = kaa.run("-p", f"{_TASK} --take best", "and now?")

    assert done.code == 0, done.err
    best, other = compared(kaa)
    assert f"Attempt {best['number']} is merged: 1 file changed" in done.out
    assert f"Worktrees that stay: {other['worktree']}." in done.out
    assert sorted(path.name for path in kaa.project.iterdir()) == ["file", "good"]
    assert f"Attempt {best['number']} was applied." in str(conversation(server.requests[-1]))
    undone = kaa.run("worktrees", "merge", "--undo", "--yes", best["worktree"])
    assert undone.code == 0, undone.err
    assert [path.name for path in kaa.project.iterdir()] == ["file"]


def test_an_attempt_that_fails_stops_no_other_and_none_is_best_without_its_checks(
    kaa: Kaa, server: ModelServer
) -> None:
    server.begin([call("bash", command="echo x > a"), WRONG_KEY, say("I did it.")])

    done = kaa.run("-p", f"{_TASK} --take best")

    assert done.code == 1
    assert "No attempt passes all checks, so nothing was merged." in done.err
    assert "0/1" in done.err
    failed, ended = compared(kaa)
    assert (failed["state"], failed["worktree"]) == ("error", "")
    assert (ended["state"], ended["passed"]) == ("done", 0)
    assert names(kaa) == [ended["worktree"]]


def test_attempts_have_models_of_their_own(kaa: Kaa, server: ModelServer) -> None:
    models = json.loads((kaa.home / "models.json").read_text())
    [provider] = models["providers"].values()
    provider["models"] += [{"id": "tiny-model"}, {"id": "large-model"}]
    (kaa.home / "models.json").write_text(json.dumps(models))
    server.begin([say("It is right already.")] * 2)

    done = kaa.run("-p", "/try 2 Change it --models tiny,large")

    asked = sorted(request.json["model"] for request in server.requests)
    assert asked == ["large-model", "tiny-model"]
    assert sorted(one["model"] for one in compared(kaa)) == ["large", "tiny"]
    assert done.code == 1
    assert "No attempt changed anything" in done.err
    assert "It is right already." in done.err
    assert names(kaa) == []


def test_all_pay_from_one_budget(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("read", path="file")] * 9)

    done = kaa.run("--max-tokens", "330", "-p", "/try 2 Change it")

    assert done.code == 6
    assert 3 <= len(server.requests) <= 4  # one that had begun is answered
    assert {one["state"] for one in compared(kaa)} == {"budget"}


def test_checks_that_outlive_the_time_of_the_run_are_a_used_up_budget(kaa: Kaa, server: ModelServer) -> None:
    server.begin(two("echo x > a", "echo x > b"))

    done = kaa.run("--max-time", "8s", "-p", "/try 2 Change it --check sleep 1000")

    assert done.code == 6, done.err
    assert {one["state"] for one in compared(kaa)} == {"budget"}


def test_an_unknown_model_is_refused(kaa: Kaa, server: ModelServer) -> None:
    done = kaa.run("-p", "/try 2 Fix it --models nowhere")

    assert done.code == 1
    assert "nowhere" in done.err
    assert not server.requests


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("--sandbox", "full-access", "-p"), "no sandbox holds the commands"),
        (("--sandbox", "read-only", "-p"), "nothing can be written in this mode"),
        (("-p", "/plan"), "nothing can be written in this mode"),
    ],
)
def test_it_is_refused_where_nothing_holds_agents_or_nothing_may_be_written(
    kaa: Kaa, server: ModelServer, flags: tuple[str, ...], error: str
) -> None:
    done = kaa.run(*flags, _TASK)

    assert done.code == 1
    assert f"nothing can be attempted here: {error}" in done.err
    assert not server.requests


def test_worktrees_survive_the_end_of_kaa(kaa: Kaa, server: ModelServer) -> None:
    changing = call("bash", command="echo x > good")
    server.begin([changing, changing, *[Answer(("Done",), fault=Fault("stall"))] * 2])

    with kaa.running("-p", _TASK) as process:
        server.wait_for_requests(4)
        process.kill()
        process.wait(HANG_SECONDS)

    listed = kaa.run("worktrees")
    assert len(names(kaa)) == 2
    assert all(name in listed.out for name in names(kaa))
    assert listed.out.count("1 file changed") == 2


def test_a_user_looks_merges_and_drops(kaa: Kaa) -> None:
    asked = []
    with AttemptsServer(two("echo x > good", "echo y > bad; rm file")) as server:
        kaa.use(server, "openai-completions")
        with rpc(kaa) as client:
            client.send({"type": "prompt", "message": _TASK, "id": "1"})
            for answer in ("Attempt 1", "Back", "Attempt 1", "Show the diff", "Merge", "Drop them"):
                question = client.event("extension_ui_request")
                while question["method"] in ("setStatus", "notify", "setWidget"):
                    question = client.event("extension_ui_request")
                asked.append(question)
                client.send({"type": "extension_ui_response", "id": question["id"], "value": answer})
            reply = client.event("command_reply")["text"]
            client.end()

    first = next(one for one in compared(kaa) if one["number"] == 1)
    assert [one["title"].partition("\n")[0] for one in asked] == [
        *("Which attempt do you want to apply?", "Merge attempt 1 into the project?") * 2,
        "Merge attempt 1 into the project?",
        "Keep the worktree of the other attempt?",
    ]
    assert asked[0]["options"][-1] == "None of them"
    assert "Dropped 1 worktree." in reply
    assert names(kaa) == [first["worktree"]]
    taken = {"good", "file"} if first["passed"] else {"bad"}
    assert {path.name for path in kaa.project.iterdir()} == taken
    assert "\n| +x" in asked[4]["title"] or "\n| +y" in asked[4]["title"]
    assert asked[4]["options"] == ["Back", "Merge"]


def test_esc_stops_all_and_one_is_stopped_by_name(seat: Seat) -> None:
    stalled = Answer(("Done",), fault=Fault("stall"))
    changing = call("bash", command="echo x > good")
    with seat.open(sandbox="", script=[changing, changing, stalled, stalled]) as program:
        enter(program, "/try 2 Change it")
        seat.model.wait_for_requests(4)
        enter(program, "/agents stop try-1")
        program.wait_for("Attempt 1")
        program.press("escape")
        program.wait_for("/try was stopped")
        program.wait_for("kaa worktrees")

    assert len(names(seat)) == 2


@pytest.fixture
def seat() -> Iterator[Seat]:
    """Elsewhere, as above."""
    with folder_elsewhere() as folder, AttemptsServer() as model:
        seat = Seat(folder, model)
        seat.setenv(GIT_CEILING_DIRECTORIES=str(folder))
        (seat.project / "file").write_text("old\n")
        yield seat


def test_the_terminal_shows_the_comparison_and_what_the_user_edited_meanwhile_stays(seat: Seat) -> None:
    changes = ("echo mine > file; echo x > good", "echo mine > file; echo x > good; seq 3 > more")
    with seat.open(sandbox="", script=two(*changes)) as program:
        enter(program, _TASK)
        program.wait_for("smallest")  # it is the first that is offered
        (seat.project / "file").write_text("yours\n")
        program.press("enter")
        program.wait_for("cannot be merged: you changed file meanwhile")
        program.wait_for("smallest")
        program.press("escape")
        program.wait_for("Keep them")
        program.press("enter")
        program.wait_for("Nothing was merged.")
        program.wait_for("Worktrees that stay")
        program.wait_for(is_idle)

    assert len(names(seat)) == 2
    assert [path.name for path in seat.project.iterdir()] == ["file"]
    assert (seat.project / "file").read_text() == "yours\n"
