"""The user makes links in another terminal while a background process of kaa's runs: no command is to blame.

The guard accepts files that the user makes then (`tests/workspace/sandbox/test_users_files.py`), but no links.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat
from tests.support.model_script import Answer, Fault
from tests.support.model_server import ModelServer, call, say
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("confined")

_SERVER = call("bash", command="touch runs; exec sleep 1000", background=True)


def _wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


def _until(lines: IO[str], text: str) -> str:
    """What is written up to the line with a text."""
    read = ""
    while text not in read:
        line = lines.readline()
        assert line, read
        read += line
    return read


@pytest.mark.parametrize("mode", ["text", "json"])
def test_a_file_of_the_user_is_told_at_once_and_ends_no_run_with_an_error(kaa: Kaa, mode: str) -> None:
    (kaa.project / "sub").mkdir()
    file, kept = kaa.project / "sub" / ".envrc", kaa.project / "sub" / ".envrc.kaa-blocked"
    held = Answer(calls=call("bash", command="true").calls, fault=Fault("stall"))
    kaa.settings(retry={"baseDelayMs": 1}, httpIdleTimeoutMs=60_000)

    with ModelServer([_SERVER, held, say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        with kaa.running("--mode", mode, "--approvals", "auto", "-p", "work") as process:
            assert process.stdout is not None
            assert process.stderr is not None
            server.wait_until_stalled()  # between two calls
            _wait_for(kaa.project / "runs")
            file.symlink_to("mine")
            told = process.stdout if mode == "json" else process.stderr
            before = _until(told, f"mv -T {kept} {file}")
            server.release()
            after = told.read()
        model = str(server.requests[-1].json["messages"])

    assert process.returncode == 0, after
    assert f"mv -T {kept} {file}" not in after
    assert ('"isError":true' in before + after, "failed" in before + after) == (False, False)
    assert "Meanwhile, not by this command" in model
    assert os.readlink(kept) == "mine"


def test_what_is_found_after_the_last_call_is_told_before_kaa_exits(kaa: Kaa) -> None:
    (kaa.project / "sub").mkdir()
    trap = "trap 'touch sub/.envrc' TERM; touch runs; while true; do sleep 0.01; done"

    with ModelServer([call("bash", command=trap, background=True), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        finished = kaa.run("--approvals", "auto", "-p", "work")

    assert finished.code == 0, finished.err
    assert "sub/.envrc.kaa-blocked" in finished.err


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_checkout_by_hand_is_told_on_the_screen_and_blames_no_command(seat: Seat) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=seat.project, env=seat.environ, check=True)

    file, kept = seat.project / "sub" / ".envrc", seat.project / "sub" / ".envrc.kaa-blocked"
    file.parent.mkdir()
    file.symlink_to("mine")
    (seat.project / "main").touch()
    git("init", "-q", "-b", "main")
    git("add", "main")
    git("commit", "-q", "-m", "main")
    git("checkout", "-q", "-b", "other")
    git("add", "sub")
    git("commit", "-q", "-m", "other")
    git("checkout", "-q", "main")
    file.parent.mkdir(exist_ok=True)  # git does not keep it
    script = [_SERVER, say("Started."), call("bash", command="echo all is well"), say("Next.")]

    with seat.open("--approvals", "auto", script=script, screen=Screen(columns=240, rows=50), sandbox="") as terminal:
        terminal.type("serve\r")
        terminal.wait_for("Started.")
        _wait_for(seat.project / "runs")

        git("checkout", "-q", "other")

        terminal.wait_for(lambda screen: f"mv -T {kept} {file}" in _unwrapped(screen))
        terminal.type("go on\r")
        terminal.wait_for("Next.")
        after = terminal.screen.text().rpartition("go on")[2]
        assert "all is well" in after
        assert "[sandbox]" not in after
        assert os.readlink(kept) == "mine"


def _unwrapped(screen: Screen) -> str:
    """What is on the screen, without the ends and beginnings of lines."""
    return re.sub(r"\s*\n\s*", " ", screen.text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_found_during_a_command_that_ends_with_kaa_is_told(kaa: Kaa, number: signal.Signals) -> None:
    (kaa.project / "sub").mkdir()
    file = kaa.project / "sub" / ".envrc"

    with ModelServer([call("bash", command="touch runs; exec sleep 1000")]) as server:
        kaa.use(server, "openai-completions")
        with kaa.running("--approvals", "auto", "-p", "work") as process:
            assert process.stderr is not None
            _wait_for(kaa.project / "runs")
            file.write_text("mine")
            while file.exists():
                time.sleep(0.01)
            process.send_signal(number)
            told = process.stderr.read()

    assert "restore it when no command runs" in told
    assert not list(kaa.home.glob("moved-files/*.moved"))
