"""Changes of one file wait for each other; locks are forgotten when nobody needs them."""

import asyncio

from kaa.builtin.file_locks import FileLocks
from tests.support.agents import run


def test_one_file_is_changed_by_one_at_a_time_and_others_meanwhile() -> None:
    locks = FileLocks()
    log: list[str] = []

    async def change(path: str, name: str) -> None:
        async with locks.hold(path):
            log.append(f"{name} begins")
            await asyncio.sleep(0)
            log.append(f"{name} ends")

    async def scenario() -> None:
        await asyncio.gather(change("/a", "first"), change("/a", "second"), change("/b", "other"))

    run(scenario())

    assert log == ["first begins", "other begins", "first ends", "other ends", "second begins", "second ends"]


def test_locks_are_forgotten_after_use_failure_and_cancellation() -> None:
    locks = FileLocks()

    async def hold(seconds: float) -> None:
        async with locks.hold("/a"):
            await asyncio.sleep(seconds)
            raise ValueError

    async def scenario() -> int:
        holding, waiting = asyncio.create_task(hold(0)), asyncio.create_task(hold(60))
        await asyncio.sleep(0)
        held = len(locks)
        waiting.cancel()
        await asyncio.gather(holding, waiting, return_exceptions=True)
        return held

    assert run(scenario()) == 1
    assert len(locks) == 0
