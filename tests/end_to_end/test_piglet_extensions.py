"""Piglet's own extensions, unmodified: its example in TypeScript, and those that are built with its SDK for Go.

Opt-in: KAA_PIGLET names a folder outside /tmp and the home with `examples/` and `sdk/` of Piglet's repository, and
`built/NAME/` for each program: what `go build ./extensions/NAME/cmd` makes under the name that the manifest gives as
`runtime`, `manifest.yaml`, and the folders of `defaults` that it names. `bun` must be on the PATH.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_script import Answer, Call
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc

_FOLDER = Path(os.environ.get("KAA_PIGLET", ""))
_HELLO = _FOLDER / "examples" / "extensions" / "ts-hello"
_PROGRAMS = sorted(_FOLDER.glob("built/*/")) if os.environ.get("KAA_PIGLET") else []
_GREET = Answer(calls=(Call("hello_world", '{"name":"Ann"}'),))

pytestmark = pytest.mark.skipif(
    "KAA_PIGLET" not in os.environ or shutil.which("bun") is None,
    reason="needs bun, and Piglet's extensions in KAA_PIGLET",
)


def _flags(kaa: Kaa, *folders: Path) -> Sequence[str]:
    """Permits extensions what they ask for. Returns the arguments that load them."""
    for folder in folders:
        assert kaa.run("ext", "permit", "--yes", str(folder)).code == 0
    return [argument for folder in folders for argument in ("-e", str(folder))]


def _built(*names: str) -> list[Path]:
    return [_FOLDER / "built" / name for name in names]


def test_print_mode_has_their_commands_tools_and_prompt(kaa: Kaa, server: ModelServer) -> None:
    flags = _flags(kaa, _HELLO, *_built("gitcontext"))
    server.begin([_GREET, say("Greeted.")])

    waved = kaa.run(*flags, "-p", "/wave Bob")
    kaa.setenv(KAA_LOG=str(kaa.home / "log"))
    done = kaa.run(*flags, "-p", "greet Ann")

    assert "Waving at Bob!" in waved.err
    assert done.code == 0, done.err
    assert "gitcontext: gitcontext 0.1.0 is ready" in (kaa.home / "log").read_text()
    assert "Hello, Ann! Welcome to piglet." in str(server.requests[-1].json)


def test_rpc_mode_has_their_tools(kaa: Kaa, server: ModelServer) -> None:
    flags = _flags(kaa, _HELLO, *_built("memory", "plan"))
    server.begin([_GREET, say("Greeted.")])

    with rpc(kaa, *flags) as client:
        commands = str(client.data("get_commands"))
        client.data("prompt", message="greet Ann")
        client.event("agent_settled")

    assert all(f"'name': '{name}'" in commands for name in ("wave", "memory", "plan"))
    assert "Hello, Ann! Welcome to piglet." in str(server.requests[-1].json)


def test_the_terminal_has_their_tools_commands_and_interceptors(seat: Seat) -> None:
    flags = _flags(seat, _HELLO, *_built("memory", "safeguard"))
    script = [_GREET, say("Greeted."), call("bash", command="rm -rf /"), say("Refused.")]
    with seat.open(*flags, script=script, sandbox="") as program:
        enter(program, "/wave Bob")
        program.wait_for("Waving at Bob!")
        enter(program, "/memory")
        program.wait_for("No project memories stored.")
        enter(program, "greet Ann")
        program.wait_for("Greeted.")
        assert "Hello, Ann! Welcome to piglet." in program.screen.text()
        program.wait_for(is_idle)
        enter(program, "clean up")
        program.wait_for("Refused.")
        assert "safeguard: blocked dangerous command" in program.screen.text()


@pytest.mark.parametrize("folder", _PROGRAMS, ids=lambda folder: folder.name)
def test_each_program_starts(kaa: Kaa, server: ModelServer, folder: Path) -> None:
    flags = _flags(kaa, folder)
    server.begin([say("Hello.")])

    done = kaa.run(*flags, "-p", "/extensions")

    assert f"{folder.name} " in done.out
    assert ": loaded, process, -e" in done.out
    assert "is not used" not in done.err
