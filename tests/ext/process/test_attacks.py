"""Attacks by processes: the call fails with a reason, the conversation goes on, and nothing is left."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from kaa.core.tool import ToolError
from kaa.ext.process import connection, process_run
from kaa.ext.process.process_run import Timing
from tests.support.process_stage import Stage, play
from tests.support.toolbox import text_of

# Each defines `attack`, which a tool runs.
_FATAL = {
    "closes what it reads from": ("os.close(3); time.sleep(600)", "it closed its connection to kaa"),
    "closes what it writes to": ("os.close(4); time.sleep(600)", "it closed its connection to kaa"),
    "closes both": ("os.close(3); os.close(4); time.sleep(600)", "it closed its connection to kaa"),
    "sends a line of 10 MB": ('peer.raw("x" * 10_000_000)', "it sent a message of more than 4 MiB"),
    "floods with garbage": ("while True: peer.raw('x\\n')", "it sent more than 5000 messages"),
    "floods with large messages": (
        'while True: peer.notify("log", message="x" * 1_000_000)',
        "it sent more than 64 MiB",
    ),
    "is killed": ("os.kill(os.getpid(), 9)", r"its process ended with signal 9 \(SIGKILL\)"),
    "ends itself": ("log('bye'); os._exit(0)", "its process ended with exit code 0"),
}
_HARMLESS = {
    "answers with wrong ids": "[peer.send(id=one, result=text('no')) for one in (999, -1, 'x', True, None, 1.5, [])]",
    "answers twice": "peer.send(id=number, result=text('first')); peer.send(id=number, result=text('second'))",
    "asks with ids of kaa": "peer.send(id=number, method='host/commands', params={}); next(peer.messages())",
    "cancels what it did not ask": "[peer.notify('$/cancelRequest', id=one) for one in (1, 'x', [], {}, None)]",
    "sends what is no message": "[peer.raw(one + '\\n') for one in ('[]', '{}', '1', '[[[[', '\\0', '\\u2028')]",
    "sends deep JSON": "peer.raw('[' * 100_000 + '\\n')",
    "sends parameters of wrong types": "[peer.notify(m, **{'key': 1, 'text': [], 'message': {}, 'requestId': 'x'})"
    " for m in ('notify', 'setStatus', 'setWidget', 'provider/delta', 'register/tool', 'log', 'showMessage', 'steer')]",
}
_PROGRAM = """
    peer = Peer()
    for message in peer.messages():
        number = message.get("id")
        if message.get("method") == "initialize":
            for name in ("attack", "work"):
                peer.notify(*tool(name)[:1], **tool(name)[1])
            peer.send(id=number, result={})
        elif message.get("method") == "tool/execute":
            if message["params"]["name"] == "attack":
                ATTACK
            peer.send(id=number, result=text("done"))
"""

_IMPATIENT = Timing(shutdown=0.1, pauses=(0.0, 0.0))


def _wait_less_for_last_words(patch: pytest.MonkeyPatch) -> None:
    """For processes that say nothing any more."""
    patch.setattr(connection, "_LAST_MESSAGES_SECONDS", 0.1)
    patch.setattr(process_run, "_LAST_WORDS_SECONDS", 0.1)


@pytest.mark.parametrize("attack", _FATAL)
def test_an_attack_ends_the_process_and_the_next_call_works(
    tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, reason = _FATAL[attack]
    if attack.startswith("closes"):
        _wait_less_for_last_words(monkeypatch)

    async def scene(stage: Stage) -> None:
        stage.timing = _IMPATIENT
        await stage.begin(_PROGRAM.replace("ATTACK", source))

        with pytest.raises(ToolError, match=f"attack failed: extension probe did not answer tool/execute: {reason}"):
            await stage.call("attack")

        assert text_of(await stage.call("work")) == "done"
        assert stage.failures == []

    play(tmp_path, scene)


@pytest.mark.parametrize("attack", _HARMLESS)
def test_nonsense_is_ignored(tmp_path: Path, attack: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(_PROGRAM.replace("ATTACK", _HARMLESS[attack]))

        answer = text_of(await stage.call("attack"))

        assert answer == ("first" if attack == "answers twice" else "done")
        assert text_of(await stage.call("work")) == "done"
        assert len(stage.host.started) == 1

    play(tmp_path, scene)


def test_a_process_that_ignores_everything_is_killed(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.timing = Timing(shutdown=0.0)
        await stage.begin("""
            import signal
            for number in range(1, 32):
                if number not in (signal.SIGKILL, signal.SIGSTOP):
                    signal.signal(number, signal.SIG_IGN)
            Peer().serve([tool("work")], {})
            if os.fork() == 0:
                time.sleep(600)
            time.sleep(600)
        """)

    play(tmp_path, scene)  # no process is left


def test_a_child_that_holds_the_descriptors_does_not_keep_a_dead_process_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wait_less_for_last_words(monkeypatch)
    child = tmp_path / "child"

    async def scene(stage: Stage) -> None:
        stage.timing = _IMPATIENT
        await stage.begin(
            _PROGRAM.replace(
                "ATTACK",
                f"child = os.fork(); child and open({str(child)!r}, 'w').write(str(child)); child and os._exit(5);"
                " time.sleep(600)",
            )
        )

        with pytest.raises(ToolError, match="its process ended with exit code 5"):
            await stage.call("attack")
        assert text_of(await stage.call("work")) == "done"

    try:
        play(tmp_path, scene)
    finally:
        os.kill(int(child.read_text()), signal.SIGKILL)


def test_a_process_that_never_reads_does_not_stop_the_conversation(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.timing = _IMPATIENT
        await stage.begin(_PROGRAM.replace("ATTACK", "time.sleep(600)"))
        stuck = asyncio.create_task(stage.call("attack"))

        with pytest.raises(ToolError, match="it does not read what kaa sends"):
            await asyncio.gather(*(stage.call("work", text="x" * 3_000_000) for _ in range(8)))

        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)

    play(tmp_path, scene)
