"""What the sandbox costs: a command and a read through kaa's hands, against the same without any of kaa.

Both sides run in this process and take turns, so that a slow moment of the machine strikes both.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.bench import Bench, Result
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest

_REPETITIONS = 200
_PAUSE_SECONDS = 0.01  # the model thinks between two commands, for much longer
_BYTES = 4096


def measure(bench: Bench) -> list[Result]:
    project = bench.folder / "sandbox" / "project"
    project.mkdir(parents=True)
    (project / "file").write_bytes(b"x" * _BYTES)
    return asyncio.run(_measure(project))


async def _measure(project: Path) -> list[Result]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(project.parent)}
    workspace = LocalWorkspace.start(str(project), env=environment)

    async def confined_true() -> None:
        assert (await workspace.run(CommandRequest(["/bin/true"]))).exit_code == 0

    async def plain_true() -> None:
        process = await asyncio.create_subprocess_exec(
            "/bin/true", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        await process.communicate()

    async def confined_read() -> None:
        assert len((await workspace.read("file")).data) == _BYTES

    async def plain_read() -> None:
        assert len((project / "file").read_bytes()) == _BYTES

    try:
        tier = (await workspace.sandbox.status()).tier
        true = await _medians_ms(confined_true, plain_true, _PAUSE_SECONDS)
        read = await _medians_ms(confined_read, plain_read, 0)
    finally:
        await workspace.close()
    return [
        Result(f"sandboxed `true` (tier {tier})", "ms", {"kaa": true[0]}),
        Result("sandboxed `true`, above a plain asyncio subprocess", "ms", {"kaa": true[0] - true[1]}, target=1.0),
        Result("sandboxed read of 4 KB", "ms", {"kaa": read[0]}, target=0.15),
        Result("sandboxed read of 4 KB, above a plain one", "ms", {"kaa": read[0] - read[1]}),
    ]


async def _medians_ms(
    first: Callable[[], Awaitable[None]], second: Callable[[], Awaitable[None]], pause: float
) -> tuple[float, float]:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_REPETITIONS + 1):
        for work, taken in ((first, times[0]), (second, times[1])):
            await asyncio.sleep(pause)
            started = time.perf_counter()
            await work()
            taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(times[0][1:]), statistics.median(times[1][1:])
