"""While the model thinks, kaa prepares the first tool call; not in a conversation that is answered at once."""

import asyncio
import subprocess
import sys

from kaa.core.events import AgentEnd, MessageUpdate, TextStart, ToolCallStart, TurnStart
from kaa.ext.tools import Risk
from kaa.shell.preparing import Preparation

_LONG_SECONDS = 60


def _risk_of(tool: str) -> Risk:
    return "read" if tool == "read" else "command"


def test_it_prepares_while_the_model_thinks() -> None:
    async def think() -> None:
        warmed = asyncio.Event()
        preparation = Preparation(warmed.set)
        preparation.observe(TurnStart(1))
        async with asyncio.timeout(_LONG_SECONDS):
            await warmed.wait()
        await preparation.close()

    asyncio.run(think())


def test_it_starts_processes_when_a_call_begins() -> None:
    async def call() -> None:
        warmed = asyncio.Event()
        preparation = Preparation(warmed.set)
        preparation.observe(TurnStart(1))
        preparation.observe(MessageUpdate(ToolCallStart(0, "1", "bash")))

        assert warmed.is_set()
        await preparation.close()

    asyncio.run(call())


def test_what_only_changes_need_is_loaded_when_one_begins() -> None:
    source = """
import asyncio, sys
from kaa.core.events import MessageUpdate, ToolCallStart, TurnStart
from kaa.shell.preparing import Preparation

async def begin(tool):
    preparation = Preparation(lambda: None, risk_of={"read": "read", "edit": "write"}.get)
    preparation.observe(TurnStart(1))
    preparation.observe(MessageUpdate(ToolCallStart(0, "1", tool)))
    await preparation.close()
    return "kaa.workspace.checkpoints.local" in sys.modules

print(asyncio.run(begin("read")), asyncio.run(begin("edit")))
"""
    done = subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, text=True, check=True)

    assert done.stdout == "False True\n"


def test_a_call_that_only_reads_starts_none() -> None:
    async def call() -> None:
        warmed = asyncio.Event()
        preparation = Preparation(warmed.set, risk_of=_risk_of)
        preparation.observe(TurnStart(1))
        preparation.observe(MessageUpdate(ToolCallStart(0, "1", "read")))
        assert not warmed.is_set()

        preparation.observe(MessageUpdate(ToolCallStart(1, "2", "bash")))
        assert warmed.is_set()
        await preparation.close()

    asyncio.run(call())


def test_after_a_call_that_only_reads_it_prepares_while_the_model_thinks() -> None:
    async def think() -> None:
        warmed = asyncio.Event()
        preparation = Preparation(warmed.set, risk_of=_risk_of)
        preparation.observe(TurnStart(1))
        preparation.observe(MessageUpdate(ToolCallStart(0, "1", "read")))
        preparation.observe(TurnStart(2))
        async with asyncio.timeout(_LONG_SECONDS):
            await warmed.wait()
        await preparation.close()

    asyncio.run(think())


def test_an_answer_at_once_costs_nothing() -> None:
    async def answer() -> None:
        warmed = asyncio.Event()
        preparation = Preparation(warmed.set)
        for first in (MessageUpdate(TextStart(0)), AgentEnd("done", ())):
            preparation.observe(TurnStart(1))
            preparation.observe(first)

        gone_off = asyncio.Event()
        later = Preparation(gone_off.set)  # its timer goes off behind those of the first
        later.observe(TurnStart(1))
        async with asyncio.timeout(_LONG_SECONDS):
            await gone_off.wait()
        assert not warmed.is_set()
        await later.close()

    asyncio.run(answer())


def test_only_a_model_that_thinks_longer_has_checkpoints_prepared() -> None:
    async def think() -> None:
        warmed, expected = asyncio.Event(), asyncio.Event()
        preparation = Preparation(warmed.set, expected.set)
        preparation.observe(TurnStart(1))
        async with asyncio.timeout(_LONG_SECONDS):
            await expected.wait()
        assert warmed.is_set()
        await preparation.close()
        assert "kaa.builtin.seen_files" in sys.modules

        expected = asyncio.Event()
        sooner = Preparation(lambda: None, expected.set)
        sooner.observe(TurnStart(1))
        sooner.observe(MessageUpdate(TextStart(0)))
        gone_off = asyncio.Event()
        later = Preparation(lambda: None, gone_off.set)  # its timers go off behind those of the first
        later.observe(TurnStart(1))
        async with asyncio.timeout(_LONG_SECONDS):
            await gone_off.wait()
        assert not expected.is_set()
        await later.close()

    asyncio.run(think())
