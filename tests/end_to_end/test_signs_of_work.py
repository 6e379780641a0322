"""Slow hooks and slash commands: they are named, and can be stopped without losing anything."""

import signal

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter
from tests.support.model_server import ModelServer, say
from tests.support.patience import HANG_SECONDS
from tests.support.rpc_client import rpc
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("full_access")

_SLOW = """
import asyncio

def extend(api):
    async def hook(*_):
        await asyncio.sleep(1000)
    {registers}
"""
_MESSAGE = "api.on_user_message(hook)"
_START = "api.on_session_start(hook)"
_COMMAND = "api.register_command('crawl', 'Take long', hook)"


def _install(kaa: Kaa, registers: str) -> None:
    folder = kaa.home / "extensions"
    folder.mkdir(exist_ok=True)
    (folder / "slow.py").write_text(_SLOW.format(registers=registers))


def _install_hanging(kaa: Kaa) -> None:
    """One whose import does not return, one whose `extend` does not, and one that is fine."""
    folder = kaa.home / "extensions"
    folder.mkdir(exist_ok=True)
    (folder / "a_import.py").write_text("import threading\nthreading.Event().wait()")
    (folder / "b_extend.py").write_text("import threading\ndef extend(kaa): threading.Event().wait()")
    (folder / "c_fine.py").write_text("def extend(kaa): kaa.add_prompt_section('fine', lambda _: 'FINE')")


def _announced(screen: Screen) -> int:
    """How many extensions are said to take long."""
    return " ".join(screen.text().split()).count("still being loaded")  # lines wrap


class TestTerminal:
    def test_extensions_that_hang_are_named_and_stopped(self, seat: Seat) -> None:
        _install_hanging(seat)

        with seat.start(script=[say("Hello.")]) as program:
            program.wait_for(lambda screen: _announced(screen) == 2)
            enter(program, "hi")
            program.press("escape")
            program.wait_for("Hello.")

        assert "FINE" in str(seat.model.requests[0].body)

    def test_kaa_can_be_left_while_an_extension_hangs(self, seat: Seat) -> None:
        _install_hanging(seat)

        with seat.start() as program:
            program.wait_for(lambda screen: _announced(screen) > 0)
            program.press("ctrl+d")
            assert program.wait_for_end() == 0

    def test_a_message_whose_hook_is_stopped_comes_back(self, seat: Seat) -> None:
        _install(seat, _MESSAGE)

        with seat.open() as program:
            enter(program, "hello there")
            program.wait_for("Running on_user_message hook of extension slow.py")
            program.press("escape")
            program.wait_for(lambda screen: "hook was stopped" in " ".join(screen.text().split()))  # lines wrap
            program.wait_for(lambda screen: "\nhello there" in screen.text() and "stops it)" not in screen.text())

        assert seat.model.requests == []

    def test_a_session_begins_when_the_hook_for_its_start_is_stopped(self, seat: Seat) -> None:
        _install(seat, _START)

        with seat.start(script=[say("Hello.")]) as program:
            program.wait_for("Running on_session_start hook of extension slow.py")
            enter(program, "hi")
            program.press("escape")
            program.wait_for("Hello.")

    def test_a_command_is_stopped(self, seat: Seat) -> None:
        _install(seat, _COMMAND)

        with seat.open() as program:
            enter(program, "/crawl")
            program.wait_for("Running /crawl of extension slow.py")
            program.press("escape")
            program.wait_for("/crawl was stopped")
            program.wait_for(lambda screen: "\n/crawl" in screen.text())  # back in the editor


class TestHeadless:
    @pytest.mark.parametrize(
        ("registers", "message", "name"),
        [
            (_START, "hi", "on_session_start hook"),
            (_MESSAGE, "hi", "on_user_message hook"),
            (_COMMAND, "/crawl", "/crawl"),
        ],
    )
    def test_one_line_names_it_and_a_signal_ends_it(self, kaa: Kaa, registers: str, message: str, name: str) -> None:
        _install(kaa, registers)

        with ModelServer() as server:
            kaa.use(server, "openai-completions")
            with kaa.running("-p", message) as process:
                assert process.stderr is not None
                line = process.stderr.readline()
                process.send_signal(signal.SIGINT)
                rest = process.stderr.read()
                code = process.wait(HANG_SECONDS)

        assert line == f"  waiting for {name} of extension slow.py\n"
        assert rest == "kaa: stopped by the user\n"
        assert code == 130


class TestRpc:
    @pytest.mark.parametrize(("registers", "message"), [(_MESSAGE, "hi"), (_COMMAND, "/crawl")])
    def test_abort_stops_it_and_the_prompt_fails(self, kaa: Kaa, registers: str, message: str) -> None:
        _install(kaa, registers)

        with ModelServer() as server:
            kaa.use(server, "openai-completions")
            with rpc(kaa) as client:
                client.send({"id": "p", "type": "prompt", "message": message})
                begun = client.event("work_start")
                client.send({"type": "abort"})
                response = client.wait(lambda line: line.get("id") == "p")
                ended = [line for line in client.seen if line.get("type") == "work_end"]

        assert begun["owner"].endswith("slow.py")
        assert response["success"] is False
        assert "was stopped" in response["error"]
        assert len(ended) == 1

    def test_abort_stops_a_hook_for_the_start(self, kaa: Kaa) -> None:
        _install(kaa, _START)

        with ModelServer() as server:
            kaa.use(server, "openai-completions")
            with rpc(kaa) as client:
                client.event("work_start")
                client.data("abort")
                state = client.data("get_state")

        assert state["isStreaming"] is False
