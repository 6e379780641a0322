"""Slow hooks and slash commands: they are named, and can be stopped without losing anything."""

import signal

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter
from tests.support.model_server import ModelServer, say
from tests.support.patience import HANG_SECONDS
from tests.support.rpc_client import rpc

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


class TestTerminal:
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

        assert line == f"  {name} of extension slow.py is still running\n"
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
