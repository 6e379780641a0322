"""git's configuration after git outside the sandbox has replaced it, which removes the mount from the file.

The user adds a remote by hand. Then the model has a command make the configuration name a
program. The canary is that program: the user's next `git status` runs it, or does not.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat
from tests.support.model_server import call, say
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("mounts")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """What exists once the program has run."""
    return tmp_path / "canary"


@pytest.fixture
def program(seat: Seat, canary: Path) -> Path:
    path = seat.project / "monitor"
    path.write_text(f"#!/bin/sh\ntouch {canary}\n")
    path.chmod(0o755)
    (seat.project / "a").write_text("x")
    _git(seat, "init", "-q", "-b", "main")
    return path


_CHANGES = (
    "git config core.fsmonitor {program}",
    'printf "[core]\\n\\tfsmonitor = {program}\\n" >> .git/config',
    "git config --file mine core.fsmonitor {program}; mv mine .git/config",
)


@pytest.mark.parametrize("together", [False, True], ids=["between two calls", "while a command runs"])
def test_the_user_s_next_git_command_executes_nothing(seat: Seat, program: Path, canary: Path, together: bool) -> None:
    stage = call("bash", command="git add a")
    wait = "touch ready; until test -e go; do sleep 0.01; done; " if together else ""
    attack = call("bash", command=wait + "; ".join(_CHANGES).format(program=program))

    with seat.start(
        "--plain",
        "--approvals",
        "auto",
        script=[stage, say("Staged."), attack, say("Attacked.")],
        screen=Screen(answers="none"),
        sandbox="",
    ) as terminal:
        terminal.wait_for(re.compile("^>$"))
        terminal.write(b"stage it\n")
        terminal.wait_for("Staged.")
        if together:
            terminal.write(b"now\n")
            terminal.wait_for(lambda _screen: (seat.project / "ready").exists())
            _git(seat, "remote", "add", "origin", "https://git.example/x")
            (seat.project / "go").touch()
        else:
            _git(seat, "remote", "add", "origin", "https://git.example/x")
            terminal.write(b"now\n")
        terminal.wait_for(_is_over)

        _git(seat, "status")
        assert not canary.exists()

    _git(seat, "status")
    assert not canary.exists()


def _is_over(screen: Screen) -> bool:
    """Whether the second command has ended: the model has the last word, or kaa asks whether it may run outside."""
    after = screen.text().rpartition("Staged.")[2]
    return "Attacked." in after or "Answer with a letter" in after


def _git(seat: Seat, *arguments: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=seat.project, env=seat.environ, check=True, capture_output=True
    )
    return done.stdout.decode()
