"""Whatever a server does wrong: kaa gets over it, or says clearly what happened and exits with the right code."""

import socket

import pytest

from tests.end_to_end.kaa_process import SECRET, Kaa, conversation
from tests.support.model_faults import LASTING, TRANSIENT
from tests.support.model_server import (
    OVERLOADED,
    WRONG_KEY,
    Answer,
    Call,
    Fault,
    ModelServer,
    Wire,
    say,
)

pytestmark = pytest.mark.usefixtures("full_access")

# What a process makes of faults. tests/shell/test_model_faults.py has all of them in every wire format.


@pytest.mark.parametrize(("wire", "fault"), [("openai-completions", "529"), ("anthropic-messages", "reset-mid-call")])
def test_transient_fault_is_tried_again(kaa: Kaa, wire: Wire, fault: str) -> None:
    with ModelServer([TRANSIENT[fault], say("Got over it.")]) as server:
        kaa.use(server, wire)
        done = kaa.run("-p", "go")

    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "Got over it."
    assert "retry 1 of 5" in done.err
    assert server.remaining == 0
    assert conversation(server.requests[0])[0] == conversation(server.requests[1])[0] == ("user", "go")
    assert not list(kaa.project.iterdir())
    assert SECRET not in done.out + done.err + kaa.session_text


def test_stalled_stream_is_tried_again(kaa: Kaa) -> None:
    # Every wire format's silence is in tests/llm/test_over_http.py. A busy machine may need more than one more try.
    kaa.settings(httpIdleTimeoutMs=1000)

    with ModelServer([Answer(text=("Some ", "words."), fault=Fault("stall")), *[say("Got over it.")] * 5]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "go")

    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "Got over it."
    assert "retry 1 of 5" in done.err


@pytest.mark.parametrize(
    ("wire", "case"), [("openai-responses", "401-that-repeats-the-key"), ("google-generative-ai", "context-overflow")]
)
def test_lasting_fault_ends_with_the_reason(kaa: Kaa, wire: Wire, case: str) -> None:
    fault, reason = LASTING[case]
    with ModelServer([fault]) as server:
        kaa.use(server, wire)
        done = kaa.run("-p", "go")

    assert (done.code, done.out) == (1, "")
    assert len(server.requests) == 1
    assert reason in done.err
    assert "Traceback" not in done.err
    assert SECRET not in done.err + kaa.session_text


def test_retries_end_and_the_last_reason_is_told(kaa: Kaa) -> None:
    kaa.settings(retry={"baseDelayMs": 1, "maxRetries": 2})

    with ModelServer([OVERLOADED] * 3) as server:
        kaa.use(server, "anthropic-messages")
        done = kaa.run("--mode", "json", "-p", "go")

    end = done.events[-1]
    assert done.code == 1
    assert server.remaining == 0
    assert (end["type"], end["reason"]) == ("agent_end", "error")
    assert "overloaded" in end["error"]
    assert end["error"] in done.err


def test_server_that_is_not_there(kaa: Kaa) -> None:
    kaa.settings(retry={"baseDelayMs": 1, "maxRetries": 1})
    with ModelServer() as server:
        kaa.use(server, "anthropic-messages")

    done = kaa.run("-p", "go")

    assert (done.code, done.out) == (1, "")
    assert "cannot connect to 127.0.0.1:" in done.err


def test_server_that_never_answers(kaa: Kaa) -> None:
    kaa.settings(retry={"maxRetries": 0}, httpIdleTimeoutMs=100)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        kaa.setenv(OPENAI_BASE_URL=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        done = kaa.run("-p", "--model", "openai/test-model", "go")

    assert (done.code, done.out) == (1, "")
    assert "sent nothing for 0.1 s" in done.err


@pytest.mark.parametrize("mode", ["text", "json"])
def test_session_that_cannot_be_written_stops_the_run_before_it_begins(kaa: Kaa, mode: str) -> None:
    (kaa.project / "file").touch()

    with ModelServer([say("never asked")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("--session-dir", "file", "--mode", mode, "-p", "go")

    assert done.code == 1
    assert server.requests == []
    assert "file" in done.err
    assert "Traceback" not in done.err


def test_failed_run_can_be_continued(kaa: Kaa) -> None:
    with ModelServer([WRONG_KEY, say("Here I am.")]) as server:
        kaa.use(server, "anthropic-messages")
        kaa.run("-p", "first")
        done = kaa.run("-c", "-p", "second")

    assert (done.code, done.out) == (0, "Here I am.\n")
    assert [text for who, text in conversation(server.requests[1]) if who == "user"] == ["first", "second"]


def test_answer_cut_off_by_the_output_limit_has_its_own_code(kaa: Kaa) -> None:
    with ModelServer([Answer(text=("half an ans",), stop="length")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "go")

    assert (done.code, done.out) == (4, "half an ans\n")
    assert "output limit" in done.err


# Fails where no tool is expected to.
_CARELESS = """
from kaa.core.provider import ToolSchema

class Careless:
    schema = ToolSchema("careless", "", {})
    asked = 0

    @property
    def sequential(self):
        self.asked += 1
        if self.asked > 1:
            raise RuntimeError("asked twice")
        return False

    async def run(self, arguments, run):
        pass

def extend(api):
    api.register_tool(Careless())
"""


def test_reason_is_told_where_what_tells_it_cannot_be_loaded_any_more(kaa: Kaa) -> None:
    gone = "import sys\nsys.modules['kaa.frontends.failures'] = None\n"  # as after an update of kaa
    (kaa.project / "mine.py").write_text(gone + _CARELESS)

    with ModelServer([Answer(calls=(Call("careless"),))]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-e", "mine.py", "-p", "go")

    assert done.code == 1
    assert "kaa: RuntimeError: asked twice" in done.err


def test_bug_that_nobody_foresaw_ends_with_a_reason(kaa: Kaa) -> None:
    (kaa.project / "mine.py").write_text(_CARELESS)

    with ModelServer([Answer(calls=(Call("careless"),))]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-e", "mine.py", "--mode", "json", "-p", "go")

    assert done.code == 1
    assert (done.events[-1]["type"], done.events[-1]["reason"]) == ("agent_end", "error")
    assert "RuntimeError: asked twice" in done.events[-1]["error"]
    assert "Traceback" in done.err
