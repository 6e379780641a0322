"""After kaa was killed at work: the next opening says what was under way, where it is, and how to go on."""

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.detached import started
from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter, is_idle, pausing
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_script import Fault
from tests.support.model_server import Answer, ModelServer, call, say
from tests.support.patience import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("mounts")

PLAN = """\
# Plan: Greet the world

Two files.

## 1. Write the greeting

- Files: `hello.txt`
- Check: `grep -q hello hello.txt`

## 2. Write the name

- Files: `name.txt`
- Check: `grep -q world name.txt`
"""


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        kaa.setenv(GIT_CEILING_DIRECTORIES=str(folder))
        yield kaa


def killed(kaa: Kaa, server: ModelServer, requests: int, *arguments: str) -> None:
    """Run kaa until the model got that many requests, and kill it."""
    with kaa.running(*arguments) as process:
        server.wait_for_requests(requests)
        process.send_signal(signal.SIGKILL)
        process.wait(HANG_SECONDS)


def notes(kaa: Kaa) -> list[Path]:
    return list(kaa.home.glob("sessions/*/.unfinished"))


def test_attempts_are_told_with_their_worktrees(kaa: Kaa, server: ModelServer) -> None:
    changing = call("bash", command="echo x > good")
    server.begin([changing, changing, *[Answer(("Done",), fault=Fault("stall"))] * 2])
    killed(kaa, server, 4, "-p", "/try 2 Change it --check test -f good")
    worktrees = [path.stem for path in Path(kaa.environ["HOME"]).glob(".local/share/kaa/worktrees/*/*.json")]
    assert len(worktrees) == 2

    told = kaa.run("-c", "-p", "/todos").err

    assert "kaa was killed while this was running:\n" in told
    assert "- /try with 2 attempts: Change it. The same command starts anew.\n" in told
    assert all(told.count(name) == 2 for name in worktrees)
    assert "`kaa worktrees list`" in told
    assert "`kaa worktrees merge NAME`" in told
    assert "`kaa worktrees drop NAME`" in told
    assert "was killed" not in kaa.run("-c", "-p", "/todos").err
    assert notes(kaa) == []


def test_a_plan_is_told_with_its_file_and_step_and_goes_on(kaa: Kaa, server: ModelServer) -> None:
    (kaa.project / "my plan.md").write_text(PLAN)
    server.begin([call("write", path="hello.txt", content="hello"), say("Done."), pausing("Writing")])
    killed(kaa, server, 3, "-p", "/plan run 'my plan.md'")

    told = kaa.run("-c", "-p", "/todos").err

    assert "- `/plan run 'my plan.md'`, step 2/2: Write the name. The same command continues with this step" in told
    server.begin([call("write", path="name.txt", content="world"), say("Done.")])
    finished = kaa.run("-p", "/plan run 'my plan.md'")
    assert finished.code == 0, finished.err
    assert "Plan executed: 2 steps done." in finished.err


def test_a_plan_without_a_file_goes_on_in_its_session(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say(PLAN)])
    assert kaa.run("-p", "/plan Greet the world").code == 0
    server.begin([pausing("Writing")])
    killed(kaa, server, 1, "-c", "-p", "/plan run")

    assert "- `/plan run`, step 1/2: Write the greeting." in kaa.run("-c", "-p", "/todos").err

    done = [call("write", path="hello.txt", content="hello"), say("Done.")]
    server.begin([*done, call("write", path="name.txt", content="world"), say("Done.")])
    assert "Plan executed: 2 steps done." in kaa.run("-c", "-p", "/plan run").err


def test_what_ended_in_order_is_not_told(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say(PLAN)])
    assert kaa.run("-p", "/plan Greet the world").code == 0
    server.begin([say("No."), *[say("No.")] * 5])

    assert kaa.run("-c", "-p", "/plan run").code == 1

    assert notes(kaa) == []
    assert "was killed" not in kaa.run("-c", "-p", "/todos").err


@pytest.mark.usefixtures("full_access")
def test_agents_in_the_background_are_told(kaa: Kaa, server: ModelServer) -> None:
    look = call("agent", agent="explore", task="Find the door.", background=True)
    server.begin([look, pausing("Looking"), pausing("Waiting")])
    killed(kaa, server, 3, "-p", "hi")

    told = kaa.run("-c", "-p", "/todos").err

    assert re.search(r"- Agents: explore-\w{6} \(Find the door\.\)\. `/agents` shows what they did", told)
    assert "Worktrees" not in told


@pytest.mark.usefixtures("full_access")
def test_another_session_of_the_project_is_told_of_once_where_a_person_looks(tmp_path: Path) -> None:
    with ModelServer() as model:
        seat = Seat(tmp_path, model)
        with seat.open(script=[pausing("Looking")]) as program:
            enter(program, "/bg @explore Find the door.")
            program.wait_for("works in the background")
            program.wait_for(lambda _: len(model.requests) == 1)
            with seat.open() as other:  # the first one lives
                other.wait_for(is_idle)
                assert "was killed" not in other.screen.text()
            program.signal(signal.SIGKILL)
            program.wait_for_end()

        with seat.open() as program:
            program.wait_for("kaa was killed in the session")
            program.wait_for(re.compile(r"Agents: explore-\w{6} \(Find the door\.\)"))
            program.wait_for("continues that session")
            enter(program, "/quit")
            program.wait_for_end()
        with seat.open() as program:
            program.wait_for(is_idle)
            assert "was killed" not in program.screen.text()
        with seat.open("-c") as program:
            program.wait_for("kaa was killed while this was running")


@pytest.mark.usefixtures("full_access")
def test_a_conversation_without_a_terminal_is_told(kaa: Kaa, server: ModelServer) -> None:
    server.begin([pausing("Working")])
    with started(kaa, "work") as one:
        server.wait_until_stalled()
        one.kill()

        told = kaa.run("--session", one.id, "-p", "/todos").err

    assert "- A conversation without a terminal (`kaa agents start`) that was not done." in told
    assert notes(kaa) == []


_SERVE = call("bash", command="sleep 1000", background=True)
_STOPPED = "[Process 1: was stopped, because kaa ended] sleep 1000"


@pytest.mark.usefixtures("full_access")
def test_jobs_that_a_kill_ended_are_told_to_the_user_and_the_model(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_SERVE, pausing("It runs")])
    killed(kaa, server, 2, "-p", "serve it")

    server.begin([say("I see."), say("Yes.")])
    told = kaa.run("-c", "-p", "and now?").err

    assert "kaa was killed while this was running:\n- Background jobs, which ended with kaa: 1 (sleep 1000)" in told
    assert str(server.requests[-1]).count(_STOPPED) == 1
    assert "sleep 1000" not in kaa.run("-c", "-p", "go on").err
    assert str(server.requests[-1]).count(_STOPPED) == 1
    assert notes(kaa) == []


@pytest.mark.usefixtures("full_access")
def test_jobs_that_ended_with_a_script_are_told_in_their_session_only(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_SERVE, say("It runs.")])
    assert kaa.run("-p", "serve it").code == 0

    server.begin([say("Hello."), say("I see.")])
    assert "sleep 1000" not in kaa.run("-p", "hello").err
    [note] = kaa.home.glob("sessions/*/.unfinished/*")
    told = kaa.run("--session", str(note.parent.parent / note.stem), "-p", "and now?").err

    assert "kaa ended while this was running:\n- Background jobs, which ended with kaa: 1 (sleep 1000)" in told
    assert _STOPPED in str(server.requests[-1])


@pytest.mark.usefixtures("full_access")
def test_jobs_that_ended_by_themselves_are_not_told_again(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_SERVE, call("process", action="stop", id=1), say("It ended.")])
    assert kaa.run("-p", "serve it").code == 0

    assert notes(kaa) == []


@pytest.mark.usefixtures("full_access")
def test_jobs_that_ended_when_a_person_left_are_told_at_the_next_start_once(tmp_path: Path) -> None:
    with ModelServer() as model:
        seat = Seat(tmp_path, model)
        with seat.open("--approvals", "auto", script=[_SERVE, say("It runs.")]) as program:
            enter(program, "serve it")
            program.wait_for("It runs.")
            program.wait_for(is_idle)
            enter(program, "/new")  # it goes on, and nobody says otherwise
            program.wait_for("Started a new session")
            enter(program, "/new")
            program.wait_for(lambda screen: screen.text().count("Started a new session") == 2)
            assert "kaa ended" not in program.screen.text()
            enter(program, "/quit")
            program.wait_for("Leave kaa?")
            program.type("q")
            program.wait_for_end()

        with seat.open() as program:
            program.wait_for("kaa ended in the session")
            program.wait_for("1 (sleep 1000)")
            enter(program, "/quit")
            program.wait_for_end()
        with seat.open() as program:
            program.wait_for(is_idle)
            assert "kaa ended" not in program.screen.text()


@pytest.mark.usefixtures("full_access")
def test_a_plan_that_was_stopped_is_told_when_its_session_is_resumed(tmp_path: Path) -> None:
    with ModelServer() as model:
        seat = Seat(tmp_path, model)
        (seat.project / "plan.md").write_text(PLAN)
        with seat.open(script=[pausing("Writing")]) as program:
            enter(program, "/plan run plan.md")
            program.wait_for("Writing")
            program.press("escape")
            program.wait_for(is_idle)
            enter(program, "/quit")
            program.wait_for_end()

        with seat.open() as program:
            program.wait_for(is_idle)
            assert "kaa ended" not in program.screen.text()
            enter(program, "/quit")
            program.wait_for_end()
        with seat.open("-c") as program:
            program.wait_for("kaa ended while this was running")
            program.wait_for("step 1/2: Write the greeting")


def test_the_port_of_a_job_that_ended_with_kaa_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    serve = call("bash", command=f"python3 -m http.server {port}", background=True)
    with folder_elsewhere() as folder, ModelServer() as model:
        seat = Seat(folder, model)
        with seat.open("--approvals", "auto", sandbox="", script=[serve, say("It runs.")]) as program:
            enter(program, "serve it")
            program.wait_for(f"/forward {port}")
            program.wait_for(is_idle)
            enter(program, f"/forward {port}")
            program.wait_for(lambda screen: f"leads to port {port}" in " ".join(screen.text().split()))
            enter(program, "/quit")
            program.wait_for("Leave kaa?")
            program.type("q")
            program.wait_for_end()

        with seat.open("-c", sandbox="") as program:
            said = f"Ports that are closed now: {port}"
            program.wait_for(lambda screen: said in " ".join(screen.text().split()))
