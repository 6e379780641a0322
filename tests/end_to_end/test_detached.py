"""Conversations in processes without a terminal: started, told something, stopped, killed, flooded."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from kaa.frontends.live.wire import socket_name
from tests.end_to_end.detached import WAIT, sockets, started, wait_until
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import pausing
from tests.support.model_server import Answer, ModelServer, Received, call, say
from tests.support.started_by_kaa import AS_A_PROGRAM

pytestmark = pytest.mark.usefixtures("elsewhere", "unasked")


def texts(request: Received) -> str:
    return "\n".join(text for _, text in conversation(request))


def test_it_works_without_a_terminal_and_ends_when_all_is_done(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("bash", command="touch made"), say("All done.")])

    with started(kaa, "--approvals", "auto", "fix it") as one:
        one.wait_for_end()

        assert "All done." in one.text
    assert (kaa.project / "made").exists()
    assert not one.socket(kaa).exists()
    assert kaa.run("agents").out == ""
    assert kaa.run("-c", "-p", "/session").code == 0  # nothing holds it any more


def test_the_end_of_the_terminal_does_not_end_it(kaa: Kaa, server: ModelServer) -> None:
    server.begin([pausing("Working")])
    with started(kaa, "work") as one:
        server.wait_until_stalled()

        assert os.getsid(one.pid) == one.pid
        os.kill(one.pid, signal.SIGHUP)
        server.release()

        one.wait_for_end()
        assert '"stopReason":"stop"' in one.text


def test_no_other_process_sees_the_task_or_a_key(kaa: Kaa, server: ModelServer) -> None:
    kaa.setenv(**AS_A_PROGRAM)
    server.begin([pausing("Working")])

    with started(kaa, "--api-key", "sk-of-this-run", "a secret task") as one:
        server.wait_until_stalled()

        words = Path(f"/proc/{one.pid}/cmdline").read_text()
        assert "secret" not in words
        assert "sk-of-this-run" not in words
        assert "sk-of-this-run" in str(server.requests[0].header("authorization"))
        os.kill(one.pid, signal.SIGTERM)
        one.wait_for_end()


def test_code_of_the_project_is_not_loaded(kaa: Kaa, server: ModelServer) -> None:
    kaa.setenv(**AS_A_PROGRAM)
    server.begin([say("Done.")])
    (kaa.project / "kaa").mkdir()
    (kaa.project / "kaa" / "__init__.py").write_text("open('harm', 'w')\n")

    with started(kaa, "hi") as one:
        one.wait_for_end()

    assert not (kaa.project / "harm").exists()


def test_what_cannot_be_started_says_why(kaa: Kaa, server: ModelServer) -> None:
    assert "takes a task" in kaa.run("agents", "start").err
    assert "--view is not for kaa agents start" in kaa.run("agents", "start", "--view", "x", "task").err
    assert kaa.run("agents", "start", "--no-such-option", "task").code == 2
    (kaa.home / "models.json").unlink()
    done = kaa.run("agents", "start", "task")
    assert done.code == 1
    assert "no model" in done.err.lower()


def test_it_is_told_and_stopped_from_another_terminal(kaa: Kaa, server: ModelServer) -> None:
    server.begin([WAIT, pausing("Working on")])
    with started(kaa, "work") as one:
        server.wait_for_requests(1)

        assert "after its present calls" in kaa.run("agents", "tell", one.short, "look", "left").out
        (kaa.project / "go").touch()
        server.wait_until_stalled()
        answer = json.loads(kaa.run("agents", "stop", "--json", str(one.pid)).out)

        assert texts(server.requests[1]).endswith("look left")
        assert answer["pid"] == one.pid
        one.wait_for_end()
        done = kaa.run("agents", "stop", one.short)
        assert done.code == 2
        assert "nothing that is open begins with" in done.err


def test_agents_of_it_are_told_and_stopped(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("agent", agent="explore", task="Find the door."), WAIT, pausing("Looking"), say("Done.")])
    with started(kaa, "work") as one:
        server.wait_for_requests(2)

        assert "present calls" in kaa.run("agents", "tell", "explore", "look left").out
        (kaa.project / "go").touch()
        server.wait_until_stalled()
        assert "was stopped" in kaa.run("agents", "stop", "explore").out

        one.wait_for_end()
    assert texts(server.requests[2]).endswith("look left")
    assert "Done." in one.text


def test_a_question_waits_for_somebody_and_is_listed(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("bash", command="touch made"), say("Done.")])
    with started(kaa, "--approvals", "ask", "work") as one:
        wait_until(lambda: "waits for an answer: Allow bash?" in kaa.run("agents").out)

        listed = json.loads(kaa.run("agents", "list", "--json").out)

        assert (listed["terminal"], listed["listens"], listed["asks"]) == (False, True, ["Allow bash? touch made"])
        assert one.is_there


def test_without_somebody_to_ask_calls_are_denied_if_so_chosen(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("bash", command="curl https://example.org"), say("Done.")])

    with started(kaa, "--approvals", "never", "work") as one:
        one.wait_for_end()

    assert "Done." in one.text


def test_a_kill_leaves_a_session_that_tells_what_was_interrupted(kaa: Kaa, server: ModelServer) -> None:
    tasks = [call("agent", agent="explore", task=f"Task {number}.", background=True) for number in range(5)]
    together = Answer(calls=tuple(one for each in tasks for one in each.calls))
    server.begin([together, *[pausing("Looking")] * 6])
    with started(kaa, "work") as one:
        server.wait_for_requests(7)
        one.kill()
        assert one.socket(kaa).exists()

        assert kaa.run("agents").out == ""
        assert not one.socket(kaa).exists()  # it was recognized as left behind
        gone = kaa.run("agents", "tell", one.short, "hello")
        assert "it ended or was killed" in gone.err

        server.begin([say("I see.")])
        shown = kaa.run("--session", one.id, "-p", "/agents").out
        assert shown.count("interrupted") + shown.count("killed") + shown.count("unfinished") == 5, shown


def test_one_that_hangs_is_told_apart(kaa: Kaa, server: ModelServer) -> None:
    server.begin([pausing("Working")])
    with started(kaa, "work") as one:
        server.wait_until_stalled()
        os.kill(one.pid, signal.SIGSTOP)
        kaa.limits |= {
            "kaa.frontends.live.client._ANSWER_SECONDS": 0.2,
            "kaa.frontends.agents_command._GREETING_SECONDS": 0.2,
        }

        done = kaa.run("agents", "tell", one.short, "hello")

        assert done.code == 1
        assert f"process {one.pid} does not answer: it was stopped or hangs" in done.err
        assert one.short in kaa.run("agents").out
        os.kill(one.pid, signal.SIGCONT)


def test_one_that_does_not_listen_is_told_apart(kaa: Kaa, server: ModelServer) -> None:
    server.begin([pausing("Working")])
    with kaa.running("-p", "work") as process:
        server.wait_until_stalled()
        kaa.limits["kaa.frontends.agents_command._STARTING_SECONDS"] = 0.2

        done = kaa.run("agents", "stop", str(process.pid))

        assert done.code == 1
        assert f"process {process.pid} does not listen" in done.err


def test_somebody_else_at_its_socket_is_recognized(kaa: Kaa, server: ModelServer) -> None:
    server.begin([pausing("Working")])
    with started(kaa, "work") as one:
        server.wait_until_stalled()
        listener = sockets(kaa).listen(socket_name(one.session))
        with listener.sock:
            done = kaa.run("agents", "tell", one.short, "a secret")
            listener.sock.accept()[0].close()
            listener.sock.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.sock.accept()

        assert done.code == 1
        assert f"process {os.getpid()} listens in the place of process {one.pid}" in done.err


def test_a_flood_and_a_client_that_hangs_do_not_hold_it_up(kaa: Kaa, server: ModelServer) -> None:
    long = "word " * 400_000  # more than the buffers of a socket hold
    server.begin([WAIT, say(long, "All done.")])
    with started(kaa, "work") as one:
        server.wait_for_requests(1)
        with sockets(kaa).connect(socket_name(one.session)) as hanging:
            hanging.sendall(b'{"type":"follow","number":1}\n')  # and reads nothing
            with sockets(kaa).connect(socket_name(one.session)) as flooding:
                _flood(flooding)
                assert "after its present calls" in kaa.run("agents", "tell", one.short, "hello").out
                (kaa.project / "go").touch()
                wait_until(lambda: "All done." in one.text)
        one.wait_for_end()


def test_no_more_than_some_clients_are_let_in(kaa: Kaa, server: ModelServer) -> None:
    server.begin([WAIT, say("All done.")])
    with started(kaa, "work") as one:
        server.wait_for_requests(1)
        clients: list[socket.socket] = []
        while b"refused" not in (said := _first_line(clients, kaa, one.session)):
            assert b"hello" in said
        for client in clients:
            client.close()

        wait_until(lambda: kaa.run("agents", "tell", one.short, "hello").code == 0)
        (kaa.project / "go").touch()
        one.wait_for_end()


def test_a_line_without_an_end_is_cut_off(kaa: Kaa, server: ModelServer) -> None:
    server.begin([WAIT, say("All done.")])
    with started(kaa, "work") as one:
        server.wait_for_requests(1)
        with sockets(kaa).connect(socket_name(one.session)) as client, pytest.raises(ConnectionError):
            _send_without_end(client)
        (kaa.project / "go").touch()
        one.wait_for_end()


def _flood(client: socket.socket) -> None:
    """Send until it takes no more, or cuts us off; read nothing."""
    client.setblocking(False)
    line = b'{"type":"say","number":1,"text":""}\nrubbish\n' * 500
    sent = 0
    while sent < 64 * 1024 * 1024:
        try:
            sent += client.send(line)
        except OSError:
            return


def _send_without_end(client: socket.socket) -> None:
    while True:
        client.sendall(b"x" * 65536)


def _first_line(clients: list[socket.socket], kaa: Kaa, session: Path) -> bytes:
    client = sockets(kaa).connect(socket_name(session))
    clients.append(client)
    return client.recv(65536)
