"""`kaa --view`: whatever is asked of a session that is only looked at, neither it nor the project changes."""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import Answer, Fault, ModelServer, call, say

pytestmark = pytest.mark.usefixtures("full_access")

_ADVICE = "it is open read-only: open it without --view, or continue in a copy (/clone, or kaa --fork ID)"


def _change(text: str) -> Answer:
    return call("bash", command=f"echo {text} > a.txt")


def _session(kaa: Kaa) -> Path:
    (path,) = kaa.home.glob("sessions/**/*.jsonl")
    return path


def _state(kaa: Kaa) -> dict[str, bytes]:
    """The project, the session and the checkpoints."""
    folders = (kaa.project, kaa.home / "sessions", kaa.home / "checkpoints")
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def _work(kaa: Kaa, server: ModelServer) -> None:
    """Two turns that change a file, of which the second is taken back: there is something to undo and to redo."""
    (kaa.project / "a.txt").write_text("one\n")
    kaa.use(server, "openai-completions")
    assert kaa.run("--approvals", "never", "-p", "first").code == 0
    assert kaa.run("--approvals", "never", "-c", "-p", "second").code == 0
    assert kaa.run("-c", "-p", "/undo").code == 0
    assert (kaa.project / "a.txt").read_text() == "two\n"


_DOORS = (
    "/undo",
    "/undo --all",
    "/redo",
    "/label here",
    "/name another",
    "/name --clear",
    "/name --suggest",
    "/compact",
    "/uncompact",
    "hello",
)


def test_what_would_change_something_is_refused_before_anything_is_touched(kaa: Kaa) -> None:
    with ModelServer([_change("two"), say("1"), _change("three"), say("2"), say("never asked for")]) as server:
        _work(kaa, server)
        assert kaa.run("-c", "-p", "/name mine").code == 0
        before, asked = _state(kaa), len(server.requests)
        for door in _DOORS:
            viewed = kaa.run("--view", str(_session(kaa)), "-p", door)

            assert (door, viewed.code, viewed.out) == (door, 1, "")
            assert viewed.err == f"kaa: cannot write the session {_session(kaa)}: {_ADVICE}\n"
            assert _state(kaa) == before, door
            assert len(server.requests) == asked, door


def test_a_session_in_use_can_be_viewed_and_the_work_in_it_is_left_alone(kaa: Kaa) -> None:
    stalling = Answer(text=("half", "never"), fault=Fault("stall", after=1))
    with ModelServer([_change("two"), say("1"), _change("three"), stalling]) as server:
        (kaa.project / "a.txt").write_text("one\n")
        kaa.use(server, "openai-completions")
        assert kaa.run("--approvals", "never", "-p", "first").code == 0
        with kaa.running("--approvals", "never", "-c", "-p", "second") as process:
            server.wait_until_stalled()
            shown = kaa.run("--view", str(_session(kaa)), "-p", "/cost")
            refused = kaa.run("--view", str(_session(kaa)), "-p", "/undo")
            process.kill()
            process.wait()

        assert (shown.code, refused.code) == (0, 1)
        assert (kaa.project / "a.txt").read_text() == "three\n"
        undone = kaa.run("-c", "-p", "/undo")

    assert undone.code == 0
    assert (kaa.project / "a.txt").read_text() == "two\n"
