"""An extension that prints, and whose own task fails, disturbs neither the screen nor what kaa writes to stdout."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import ModelServer
from tests.support.rpc_client import rpc

pytestmark = pytest.mark.usefixtures("full_access")

_PRINTING = '''
import asyncio
import sys
import warnings

from kaa.ext.api import Reply


async def fail():
    raise ValueError("in a task of its own")


def extend(kaa):
    @kaa.command
    async def prints(arguments, context):
        """Print."""
        print("on stdout")
        print("on stderr", file=sys.stderr)
        warnings.warn("a warning", stacklevel=1)
        task = asyncio.create_task(fail())
        await asyncio.wait([task])
        del task
        return Reply("done")
'''


@pytest.fixture
def extension(tmp_path: Path) -> str:
    """The path of an extension that prints."""
    path = tmp_path / "printing.py"
    path.write_text(_PRINTING)
    return str(path)


def test_the_terminal_shows_nothing_of_it(seat: Seat, extension: str) -> None:
    seat.setenv(KAA_LOG=str(seat.home / "log"))
    with seat.open("-e", extension) as program:
        enter(program, "/prints")
        program.wait_for("done")
        program.wait_for(is_idle)

        shown = program.screen.text()

    log = (seat.home / "log").read_text()
    for text in ("on stdout", "on stderr", "a warning", "ValueError: in a task of its own"):
        assert text not in shown
        assert text in log


@pytest.fixture
def ready(kaa: Kaa) -> Iterator[Kaa]:
    """kaa with a model."""
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield kaa


def test_other_modes_write_it_to_stderr(ready: Kaa, extension: str) -> None:
    text = ready.run("-e", extension, "-p", "/prints")
    events = ready.run("-e", extension, "--mode", "json", "/prints")

    assert text.out == "done\n", text.err
    assert "on stdout" in text.err
    assert "on stdout" in events.err
    assert [json.loads(line) for line in events.out.splitlines()]


def test_rpc_mode_sends_messages_only(ready: Kaa, extension: str) -> None:
    with rpc(ready, "-e", extension) as client:
        client.data("prompt", message="/prints")

        assert client.data("get_state")
