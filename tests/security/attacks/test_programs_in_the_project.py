"""A virtual environment of the project is activated: sandboxed commands plant programs there that kaa executes."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.kaa_process import SECRET
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import MODEL_ID, ModelServer, call, say

pytestmark = pytest.mark.usefixtures("confined")

_PLANTED = ("gh", "print-key", "wl-paste", "xclip", "wl-copy", "xdg-open", "edit")


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    with ModelServer() as model:
        seat = Seat(tmp_path, model)
        environment = seat.project / ".venv" / "bin"
        environment.mkdir(parents=True)
        (tmp_path / "canaries").mkdir()
        honest = tmp_path / "bin"
        honest.mkdir()
        # A link of the user's, made for convenience, leads into the project.
        (honest / "xclip").symlink_to(environment / "xclip")
        seat.setenv(PATH=f"{environment}:.venv/bin::{honest}:{os.environ['PATH']}")
        yield seat


def canaries(seat: Seat) -> list[str]:
    """What was executed outside."""
    return sorted(os.listdir(seat.project.parent / "canaries"))


def plant(seat: Seat) -> None:
    """Have a sandboxed command write programs into the virtual environment."""
    folder = seat.project.parent / "canaries"
    script = f'#!/bin/sh\\necho "$0 $*" >> "{folder}/${{0##*/}}"\\necho planted\\n'
    command = (
        f"for name in {' '.join(_PLANTED)}; do printf '{script}' > .venv/bin/$name; chmod +x .venv/bin/$name; done"
    )
    seat.model.begin([call("bash", command=command), say("Done.")])
    done = seat.run("-p", "set it up")
    assert done.code == 0, done.err
    assert sorted(os.listdir(seat.project / ".venv" / "bin")) == sorted(_PLANTED)
    assert canaries(seat) == []


def test_share_does_not_execute_them(seat: Seat) -> None:
    plant(seat)

    with seat.open(sandbox="", script=[say("Hello.")]) as program:
        enter(program, "hi there")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        enter(program, "/share")
        program.wait_for("kaa does not execute")

    assert canaries(seat) == []


def test_a_key_that_is_a_command_does_not_execute_them(seat: Seat) -> None:
    honest = seat.project.parent / "bin" / "print-key"
    honest.write_text(f"#!/bin/sh\necho {SECRET}\n")
    honest.chmod(0o755)
    plant(seat)
    models = seat.home / "models.json"
    config = msgspec.json.decode(models.read_bytes())
    config["providers"]["test"]["apiKey"] = "!print-key"
    models.write_bytes(msgspec.json.encode(config))
    (seat.project.parent / "bin" / "xclip").unlink()

    seat.model.begin([say("Hello.")])
    done = seat.run("--model", f"test/{MODEL_ID}", "-p", "hi")

    assert canaries(seat) == []
    assert done.out.strip() == "Hello.", done.err


@pytest.mark.parametrize("variable", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_the_clipboard_does_not_execute_them(seat: Seat, variable: str) -> None:
    plant(seat)
    # The clipboard's programs that this machine may have are found nowhere, or they would be executed instead.
    planted, honest = (seat.project / ".venv" / "bin", seat.project.parent / "bin")
    seat.setenv(**{variable: ":0", "PATH": f"{planted}:.venv/bin::{honest}"})

    with seat.open(sandbox="", script=[say("Hello.")]) as program:
        enter(program, "hi there")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        enter(program, "/copy")
        program.wait_for("copied")
        program.press("ctrl+v")
        program.wait_for("kaa does not execute")

    assert canaries(seat) == []


def test_the_external_editor_is_not_one_of_them(seat: Seat) -> None:
    plant(seat)
    seat.setenv(EDITOR="edit --wait")

    with seat.open(sandbox="") as program:
        program.press("ctrl+g")
        program.wait_for("kaa does not execute")

    assert canaries(seat) == []


def test_the_persons_own_commands_keep_their_path(seat: Seat) -> None:
    plant(seat)

    with seat.open(sandbox="") as program:
        enter(program, "!edit")
        program.wait_for("planted")
