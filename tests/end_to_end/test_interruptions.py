"""Killed, interrupted or terminated at any moment: what was shown is kept, and the session goes on with `-c`."""

import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import OVERLOADED, Answer, Fault, ModelServer, Wire, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes

pytestmark = pytest.mark.usefixtures("full_access")

_POLL_SECONDS = 0.01

_STALLING = Answer(text=("Half of ", "the answer."), fault=Fault("stall", after=1))

# Says that it runs, prints something, and would go on for long.
_LONG_COMMAND = "echo $$ > pid.new; mv pid.new pid; echo shown; sleep 1000"


def _wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited in vain")
        time.sleep(_POLL_SECONDS)


def _wait_for_text(stream: "subprocess.Popen[str]", text: str) -> None:
    assert stream.stdout is not None
    seen = ""
    while text not in seen:
        character = stream.stdout.read(1)
        assert character, f"the output ended with {seen!r}"
        seen += character


def _interrupt_reply(kaa: Kaa, server: ModelServer, number: signal.Signals) -> int:
    """Send a signal after the first half of a reply is on the screen. Returns the exit code."""
    with kaa.running("-p", "tell me") as process:
        server.wait_until_stalled()
        _wait_for_text(process, "Half of ")
        process.send_signal(number)
        return process.wait(HANG_SECONDS)


def _interrupt_tool(kaa: Kaa, number: signal.Signals) -> int:
    """Send a signal while a command runs whose output was shown; the command ends too. Returns the exit code."""
    with kaa.running("--mode", "json", "-p", "work") as process:
        _wait_for_text(process, "shown\\n")
        started = Processes().descendants(process.pid)
        process.send_signal(number)
        code = process.wait(HANG_SECONDS)
    Processes().wait_until_gone(*started)
    return code


@pytest.mark.parametrize(
    ("wire", "number", "code"),
    [
        ("openai-completions", signal.SIGKILL, -signal.SIGKILL),
        ("openai-completions", signal.SIGINT, 130),
        ("anthropic-messages", signal.SIGTERM, 143),
        ("openai-completions", signal.SIGHUP, 129),
    ],
)
def test_reply_is_kept_as_far_as_it_was_shown(kaa: Kaa, wire: Wire, number: signal.Signals, code: int) -> None:
    with ModelServer([_STALLING, say("The rest.")]) as server:
        kaa.use(server, wire)

        ended = _interrupt_reply(kaa, server, number)
        resumed = kaa.run("-c", "-p", "go on")

    assert (ended, resumed.code, resumed.out) == (code, 0, "The rest.\n")
    said = conversation(server.requests[1])
    assert said[0] == ("user", "tell me")
    assert said[1][0] == "assistant"
    assert "Half of" in said[1][1]
    assert said[-1] == ("user", "go on")
    assert "Half of " in kaa.session_text


@pytest.mark.parametrize(
    ("wire", "number", "code"),
    [
        ("openai-responses", signal.SIGKILL, -signal.SIGKILL),
        ("openai-completions", signal.SIGINT, 130),
        ("anthropic-messages", signal.SIGTERM, 143),
    ],
)
def test_output_of_an_interrupted_tool_is_kept(kaa: Kaa, wire: Wire, number: signal.Signals, code: int) -> None:
    with ModelServer([call("bash", command=_LONG_COMMAND), say("I see.")]) as server:
        kaa.use(server, wire)

        ended = _interrupt_tool(kaa, number)
        resumed = kaa.run("-c", "-p", "go on")

    assert (ended, resumed.code, resumed.out) == (code, 0, "I see.\n")
    said = conversation(server.requests[1])
    assert [who for who, _ in said] == ["user", "assistant", "tool", "user"]
    assert "shown" in said[2][1]


def test_kill_before_the_first_byte_keeps_the_prompt(kaa: Kaa) -> None:
    silent = Answer(text=("never seen",), fault=Fault("stall", after=0))

    with ModelServer([silent, say("Both seen.")]) as server:
        kaa.use(server, "anthropic-messages")
        with kaa.running("-p", "first") as process:
            server.wait_until_stalled()
            process.kill()
            process.wait(HANG_SECONDS)
        resumed = kaa.run("-c", "-p", "second")

    assert (resumed.code, resumed.out) == (0, "Both seen.\n")
    assert [text for who, text in conversation(server.requests[1]) if who == "user"] == ["first", "second"]


def test_finished_tool_is_not_lost_with_its_slow_neighbour(kaa: Kaa) -> None:
    slow = call("bash", command=_LONG_COMMAND).calls[0]
    quick = call("bash", command="echo quick result").calls[0]

    with ModelServer([Answer(calls=(slow, quick)), say("ok")]) as server:
        kaa.use(server, "anthropic-messages")
        with kaa.running("-p", "work") as process:
            _wait_for((kaa.project / "pid").exists)
            _wait_for(lambda: "quick result\\n" in kaa.session_text or '"text":"quick result"' in kaa.session_text)
            process.kill()
            process.wait(HANG_SECONDS)
        resumed = kaa.run("-c", "-p", "go on")

    assert resumed.code == 0
    said = conversation(server.requests[1])
    assert [who for who, _ in said] == ["user", "assistant", "assistant", "tool", "tool", "user"]
    results = [text for who, text in said if who == "tool"]
    assert "interrupted" in results[0]
    assert results[1] == "quick result"


def test_kill_in_a_torrent_loses_nothing_that_was_printed(kaa: Kaa) -> None:
    words = tuple(f"word{number} " for number in range(20_000))

    with ModelServer([Answer(text=words), say("ok")]) as server:
        kaa.use(server, "google-generative-ai")
        with kaa.running("-p", "talk") as process:
            assert process.stdout is not None
            printed = process.stdout.read(20_000)
            process.kill()
            printed += process.stdout.read()
        kaa.run("-c", "-p", "go on")

    (told,) = [text for who, text in conversation(server.requests[1]) if who == "assistant"]
    assert told.startswith(printed.rstrip())
    assert "".join(words).startswith(told.rstrip())


@pytest.mark.usefixtures("mounts")
def test_waiting_for_a_retry_can_be_interrupted(kaa: Kaa) -> None:
    kaa.settings(retry={"baseDelayMs": 60_000, "maxAgentDelayMs": 60_000})

    with ModelServer([OVERLOADED]) as server:
        kaa.use(server, "openai-completions")
        with kaa.running("-p", "go") as process:
            assert process.stderr is not None
            assert "retry 1 of 5 in " in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            code = process.wait(HANG_SECONDS)

    assert code == 130


def test_killed_twice_tells_everything_once(kaa: Kaa) -> None:
    with ModelServer([_STALLING, _STALLING, say("The end.")]) as server:
        kaa.use(server, "anthropic-messages")
        _interrupt_reply(kaa, server, signal.SIGKILL)
        with kaa.running("-c", "-p", "again") as process:
            _wait_for_text(process, "Half of ")
            process.kill()
            process.wait(HANG_SECONDS)
        resumed = kaa.run("-c", "-p", "go on")

    assert (resumed.code, resumed.out) == (0, "The end.\n")
    texts = [text for _, text in conversation(server.requests[2])]
    assert [text for text in texts if text in ("tell me", "again", "go on")] == ["tell me", "again", "go on"]
    assert sum("Half of" in text for text in texts) == 2


def test_waiting_for_input_can_be_interrupted(kaa: Kaa) -> None:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        kaa.limits["kaa.frontends.headless._SILENT_WAIT_SECONDS"] = 0.1
        with kaa.running("--mode", "json", "-p", "go", stdin=subprocess.PIPE) as process:
            assert process.stderr is not None
            assert "waiting for standard input" in process.stderr.readline()
            process.terminate()
            code = process.wait(HANG_SECONDS)
            out, err = process.communicate()

    assert code == 143
    assert json.loads(out) == {
        "type": "agent_end",
        "reason": "aborted",
        "messages": [],
        "error": "stopped by the user",
        "willRetry": False,
    }
    assert err == "kaa: stopped by the user\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", ["-p go", "--mode json -p go", "--list-models", "demo"])
@pytest.mark.usefixtures("mounts")
def test_full_disk_behind_the_output_ends_the_run_with_the_reason(kaa: Kaa, arguments: str) -> None:
    with ModelServer([say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run_in_shell(f'"$KAA" {arguments} >/dev/full')

    assert (done.code, done.err) == (1, "kaa: the output cannot be written: No space left on device\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_full_disk_behind_the_progress_ends_the_run(kaa: Kaa) -> None:
    with ModelServer([call("bash", command="true"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run_in_shell('"$KAA" -p go 2>/dev/full')

    assert (done.code, done.out) == (1, "")


def test_reader_that_goes_away_ends_the_run(kaa: Kaa) -> None:
    with ModelServer([Answer(text=("line\n",) * 20_000)]) as server:
        kaa.use(server, "openai-completions")
        with kaa.running("-p", "talk") as process:
            _wait_for_text(process, "line\n")
            assert process.stdout is not None
            process.stdout.close()
            code = process.wait(HANG_SECONDS)
            assert process.stderr is not None
            complaints = process.stderr.read()

    assert code == 141
    assert "Traceback" not in complaints


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_prefix_is_sent_again_after_a_tool_was_interrupted(kaa: Kaa, number: signal.Signals) -> None:
    with ModelServer([call("bash", command=_LONG_COMMAND), say("I see."), say("Bye.")]) as server:
        kaa.use(server, "openai-completions")
        _interrupt_tool(kaa, number)
        kaa.run("-c", "-p", "what happened?")
        kaa.run("-c", "-p", "thanks")

    bodies = [request.body for request in server.requests]
    assert len(bodies) == 3
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(earlier[: earlier.rindex(b"]}")])


def test_what_a_killed_turn_did_to_files_can_be_taken_back(kaa: Kaa) -> None:
    (kaa.project / "a.txt").write_text("one\n")
    (kaa.project / "b.txt").write_text("b\n")
    killed = "echo two > a.txt; echo x > new; rm b.txt; echo $$ > pid.new; mv pid.new pid; sleep 1000"

    with ModelServer([call("bash", command=killed)]) as server:
        kaa.use(server, "openai-completions")
        with kaa.running("-p", "work") as process:
            _wait_for((kaa.project / "pid").exists)
            changed = (kaa.project / "pid").stat().st_ctime_ns
            # kaa signs while the turn runs; what changed long after the last sign would count as somebody else's.
            (turn,) = kaa.home.glob("checkpoints/*/turns/*")
            _wait_for(lambda: turn.stat().st_mtime_ns >= changed)
            process.kill()
            process.wait(HANG_SECONDS)
        undone = kaa.run("-c", "-p", "/undo")

    assert undone.code == 0
    assert sorted(undone.out.splitlines()[1:]) == [
        "created b.txt",
        "deleted new",
        "deleted pid",
        "not covered by checkpoints: what is in .git",
        "note: 4 files changed while a command ran; if another program changed them too, /redo brings that back",
        "restored a.txt",
    ]
    assert {path.name: path.read_text() for path in kaa.project.iterdir()} == {"a.txt": "one\n", "b.txt": "b\n"}
