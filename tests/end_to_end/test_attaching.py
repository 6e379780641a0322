"""Terminals that attach to conversations of other processes, and conversations that outlive their terminal."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kaa.shell.home import Home
from kaa.shell.live_sessions import live_sessions
from tests.end_to_end.detached import WAIT, Detached, started, wait_until
from tests.end_to_end.seat import Seat, enter, is_idle, pausing
from tests.end_to_end.test_terminal_drafts import content_of
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.program import Program
from tests.support.warm_start import COMMAND

pytestmark = pytest.mark.usefixtures("full_access")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def seat(server: ModelServer) -> Iterator[Seat]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        yield Seat(folder, server)


@contextmanager
def attached(seat: Seat, one: str, *flags: str) -> Iterator[Program]:
    """A terminal that is attached."""
    argv = [COMMAND, "agents", "attach", *flags, one]
    with Program.start(argv, env=seat.environ, cwd=seat.project) as program:
        program.wait_for("Attached to")
        yield program


def ended_by_hand(seat: Seat, one: Detached) -> None:
    assert seat.run("agents", "stop", str(one.pid)).code == 0
    one.wait_for_end()


def test_what_was_said_before_is_shown_and_what_comes_follows(seat: Seat, server: ModelServer) -> None:
    server.begin([say("First answer."), WAIT, say("All done.")])
    with started(seat, "--approvals", "auto", "One thing", "Another thing") as one:
        server.wait_for_requests(2)
        with attached(seat, one.short) as program:
            program.wait_for("Another thing")
            program.wait_for("until [ -e go ]")
            assert "First answer." in program.screen.text()
            assert program.screen.text().count("Another thing") == 1
            enter(program, "hurry")
            program.wait_for("steering: hurry")
            (seat.project / "go").touch()
            program.wait_for("All done.")
            assert one.is_there
            program.press("ctrl+d")
            program.wait_for_end()
        one.wait_for_end()
    assert "hurry" in one.text


def test_a_reply_that_has_begun_is_shown_whole(seat: Seat, server: ModelServer) -> None:
    server.begin([pausing("Once upon a time ", "there was a cat", after=1)])
    with started(seat, "Tell me") as one:
        server.wait_until_stalled()
        with attached(seat, one.short) as program:
            program.wait_for("Once upon a time")
            server.release()
            program.wait_for(re.compile("Once upon a time\\s+there was a cat"))
            program.press("ctrl+d")
            program.wait_for_end()


def test_leaving_does_not_end_it_and_stopping_does_not_leave(seat: Seat, server: ModelServer) -> None:
    server.begin([pausing("Working"), say("Here again.")])
    with started(seat, "work") as one:
        server.wait_until_stalled()
        with attached(seat, one.short) as program:
            program.press("ctrl+d")
            program.wait_for("The conversation continues.")
        assert one.is_there
        with attached(seat, one.short) as program:
            program.wait_for("stops it")
            program.press("escape")
            program.wait_for("Stopped.")
            program.wait_for(is_idle)
            assert one.is_there
            enter(program, "go on")
            program.wait_for("Here again.")
            enter(program, "/exit")
            program.wait_for_end()
        one.wait_for_end()


def test_two_that_attach_are_asked_and_the_first_answer_counts(seat: Seat, server: ModelServer) -> None:
    server.begin([call("bash", command="touch made"), pausing("Made.")])
    with started(seat, "--approvals", "ask", "work") as one:
        with attached(seat, one.short) as first, attached(seat, one.short) as second:
            first.wait_for("(y)")
            second.wait_for("(y)")
            second.press("y")
            first.wait_for("Made.")
            second.wait_for("Made.")
            assert "Allow bash?" not in first.screen.text()
            enter(first, "well done")
            second.wait_for("well done")
        assert (seat.project / "made").exists()


def test_it_can_be_used_line_by_line(seat: Seat, server: ModelServer) -> None:
    server.begin([call("bash", command="touch made"), say("Made."), say("Thanks.")])
    with started(seat, "--approvals", "ask", "work") as one:
        with attached(seat, one.short, "--plain") as program:
            program.wait_for("Answer with a letter")
            enter(program, "y")
            program.wait_for("Made.")
            enter(program, "well done")
            program.wait_for("Thanks.")
            enter(program, "/exit")
            program.wait_for_end()
        one.wait_for_end()


def test_the_end_of_the_process_is_told(seat: Seat, server: ModelServer) -> None:
    server.begin([pausing("Working")])
    with started(seat, "work") as one:
        server.wait_until_stalled()
        with attached(seat, one.short) as program:
            one.kill()
            program.wait_for(f"kaa --session {one.short}")
            program.wait_for_end()


def test_a_kaa_with_a_terminal_listens_too(seat: Seat, server: ModelServer) -> None:
    with seat.open(
        "--approvals", "ask", sandbox="", script=[call("bash", command="touch made"), pausing("Made.")]
    ) as terminal:
        enter(terminal, "work")
        terminal.wait_for("(y)")
        wait_until(lambda: "waits for an answer" in seat.run("agents").out)
        [listed] = [json.loads(line) for line in seat.run("agents", "list", "--json").out.splitlines()]
        with attached(seat, str(listed["pid"])) as program:
            program.wait_for("(y)")
            program.press("y")
            terminal.wait_for("Made.")
            assert "Allow bash?" not in terminal.screen.text()
            assert "after its present calls" in seat.run("agents", "tell", str(listed["pid"]), "from elsewhere").out
            terminal.wait_for("from elsewhere")
            program.wait_for("from elsewhere")
            assert "stopped" in seat.run("agents", "stop", str(listed["pid"])).out
            terminal.wait_for("Stopped.")
        enter(terminal, "/quit")
        terminal.wait_for_end()
    assert not list((seat.home / "run").glob("*.sock"))


def test_another_session_sends_those_away_who_are_attached(seat: Seat, server: ModelServer) -> None:
    with seat.open(script=[say("Hello."), say("Hello again.")]) as terminal:
        enter(terminal, "hi")
        terminal.wait_for("Hello.")
        terminal.wait_for(is_idle)
        with attached(seat, str(terminal_pid(seat))) as program:
            enter(terminal, "/new")
            terminal.wait_for("Started a new session")
            program.wait_for("The conversation ended there")
        enter(terminal, "hi again")
        terminal.wait_for("Hello again.")
        with attached(seat, str(terminal_pid(seat))) as program:
            program.wait_for("Hello again.")


def terminal_pid(seat: Seat) -> int:
    [listed] = [json.loads(line) for line in seat.run("agents", "list", "--json").out.splitlines()]
    pid: int = listed["pid"]
    return pid


def handed_over(seat: Seat) -> Detached:
    """The process that goes on with the only session."""
    [session] = seat.home.glob("sessions/*/*.jsonl")
    return Detached(session.stem.partition("_")[2], terminal_pid(seat), session)


def test_what_is_under_way_can_be_left_running(seat: Seat, server: ModelServer) -> None:
    script = [
        call("agent", agent="explore", task="Find the door.", background=True),
        call("bash", command="sleep 1000"),
        call("bash", command="sleep 1000"),
        WAIT,
        say("All done."),
    ]
    with seat.open("--approvals", "auto", "--max-tokens", "100k", sandbox="", script=script) as terminal:
        enter(terminal, "work")
        server.wait_for_requests(3)
        terminal.wait_for("Running bash")
        terminal.press("ctrl+d")
        terminal.wait_for("Leave it running (l)")
        terminal.press("l")
        terminal.wait_for("kaa agents attach")
        terminal.wait_for_end()

    one = handed_over(seat)
    try:
        server.wait_for_requests(4)
        said = "\n".join(text for _, text in seat.heard())
        assert re.search("(Interrupted|Stopped) by the user before it", said)
        assert "you continue without one, in a new process" in said
        assert re.search(r"in the background: explore-\w{6}", said)
        (seat.project / "go").touch()
        one.wait_for_end()
        assert "All done." in one.text
    finally:
        one.kill()


def test_it_goes_on_with_what_was_chosen_in_the_session(seat: Seat, server: ModelServer) -> None:
    script = [pausing("Working"), pausing("Working on")]
    flags = ("--approvals", "ask", "--net", "registries", "--sandbox", "workspace-write", "--max-tokens", "100k")
    with seat.open(*flags, sandbox="", script=script) as terminal:
        enter(terminal, "/approvals never")
        terminal.wait_for("never")
        enter(terminal, "/net off")
        terminal.wait_for("net off")
        enter(terminal, "work")
        server.wait_until_stalled()
        enter(terminal, "/detach")
        terminal.wait_for_end()

    one = handed_over(seat)
    try:
        server.wait_for_requests(2)
        with attached(seat, one.short) as program:
            program.wait_for(re.compile(r"never • net off"))
            enter(program, "/budget")
            program.wait_for("100")
        ended_by_hand(seat, one)
    finally:
        one.kill()


def test_what_waits_is_sent_there_and_survives_a_kill_of_it(seat: Seat, server: ModelServer) -> None:
    with seat.open(sandbox="", script=[pausing("Working"), pausing("Working on")]) as terminal:
        enter(terminal, "work")
        server.wait_until_stalled()
        enter(terminal, "of pears")
        terminal.wait_for("steering: of pears")
        enter(terminal, "/detach")
        terminal.wait_for_end()
    one = handed_over(seat)
    server.wait_for_requests(2)
    one.kill()

    with seat.start("-c", script=[say("Sweet.")]) as terminal:
        terminal.wait_for("kaa ended before a message was sent")
        terminal.wait_for("of pears")
        enter(terminal, "")
        terminal.wait_for("Sweet.")

    assert seat.heard()[-1] == ("user", "of pears")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_what_is_typed_where_a_terminal_is_attached_survives_its_end(
    seat: Seat, server: ModelServer, how: signal.Signals
) -> None:
    server.begin([WAIT, say("All done.")])
    with started(seat, "--approvals", "auto", "One thing") as one:
        server.wait_for_requests(1)
        with attached(seat, one.short) as program:
            program.type("and of pears")
            program.wait_for(lambda _: "and of pears" in content_of(seat.home.glob("starting/*.json")))
            os.kill(program.pid, how)
            program.wait_for_end()
        with attached(seat, one.short) as program:
            program.wait_for("and of pears")
            one.kill()
            program.wait_for("What you typed comes back")
            program.wait_for_end()

    with seat.open() as program:
        program.wait_for("and of pears")


def test_a_message_of_an_attached_terminal_that_a_hook_looks_at_survives_a_kill(
    seat: Seat, server: ModelServer
) -> None:
    go = seat.project / "go"
    waits = {"type": "command", "command": f"case $(cat) in *pears*) until [ -e {go} ]; do sleep 0.1; done;; esac"}
    (seat.home / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [waits]}]}}))
    with seat.open("tell me of figs", script=[say("All about figs.")]) as terminal:
        terminal.wait_for("All about figs.")
        terminal.wait_for(is_idle)
        with attached(seat, str(terminal.pid)) as program:
            enter(program, "and of pears")
            program.wait_for("a run begins with the message")
            os.kill(terminal.pid, signal.SIGKILL)
            program.wait_for_end()

    with seat.open("-c") as terminal:
        terminal.wait_for("and of pears")


def test_what_waited_is_sent_once_by_the_process_that_goes_on(seat: Seat, server: ModelServer) -> None:
    with seat.open(sandbox="", script=[pausing("Working"), say("Done."), say("Sweet.")]) as terminal:
        enter(terminal, "work")
        server.wait_until_stalled()
        enter(terminal, "of pears")
        terminal.wait_for("steering: of pears")
        enter(terminal, "/detach")
        terminal.wait_for_end()
    wait_until(lambda: not live_sessions(Home(seat.home)))  # the other process may have ended by now

    assert seat.heard()[-1] == ("user", "of pears")
    assert [text for _, text in seat.heard()].count("of pears") == 1
    assert not list(seat.home.glob("sessions/**/*.waiting"))


def test_leaving_can_stop_it_or_be_taken_back(seat: Seat, server: ModelServer) -> None:
    with seat.open(script=[pausing("Working")]) as terminal:
        enter(terminal, "work")
        server.wait_until_stalled()
        terminal.wait_for("Working")
        enter(terminal, "/quit")
        terminal.wait_for("Stop it and leave")
        terminal.press("escape")
        terminal.wait_for("stops it")
        terminal.press("ctrl+d")
        terminal.wait_for("Stop it and leave")
        terminal.press("q")
        terminal.wait_for("kaa -c resumes this session")
        terminal.wait_for_end()
    assert seat.run("agents").out == ""


def test_nothing_is_handed_over_where_nothing_is_under_way(seat: Seat, server: ModelServer) -> None:
    with seat.open(script=[say("Hello.")]) as terminal:
        enter(terminal, "hi")
        terminal.wait_for("Hello.")
        terminal.wait_for(is_idle)
        enter(terminal, "/detach")
        terminal.wait_for("nothing is running")
        enter(terminal, "/quit")
        terminal.wait_for_end()


def test_what_is_repeated_is_repeated_there(seat: Seat, server: ModelServer) -> None:
    with seat.open("--approvals", "auto", sandbox="", script=[say("Once."), say("Twice.")]) as terminal:
        enter(terminal, "/loop 1h say it")
        terminal.wait_for("Once.")
        terminal.wait_for(is_idle)
        terminal.press("ctrl+d")
        terminal.wait_for("Leave it running (l)")
        terminal.press("l")
        terminal.wait_for_end()

    one = handed_over(seat)
    try:
        server.wait_for_requests(2)
        wait_until(lambda: "Twice." in one.text)
        assert one.is_there
        ended_by_hand(seat, one)
    finally:
        one.kill()
