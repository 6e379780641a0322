"""Runs the exports of one component: each call in a fresh instance, in a thread, with limits and without rights."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from kaa.ext.wasm.compiled import CompiledFiles
from kaa.ext.wasm.description import Limits
from kaa.ext.wasm.errors import ComponentError
from kaa.ext.wasm.worker import Call, HostContext, HostFunctions, Worker
from kaa.host.log import LOG

# What `add_wasip2` has.
_WASI = tuple(f"wasi:{package}/" for package in ("io", "clocks", "random", "cli", "filesystem", "sockets"))
_MAX_IDLE = 4

ResultT = TypeVar("ResultT")


class Machine:
    """A compiled component.

    Args:
        name: of the extension, for the log.
        files: keep its machine code.
        data: the component.
        limits: of each call.
        offered: what it can import besides WASI.
    """

    def __init__(self, name: str, files: CompiledFiles, data: bytes, limits: Limits, offered: HostFunctions) -> None:
        self._name = name
        self._files = files
        self._data = data
        self._limits = limits
        self._offered = offered
        self._idle: list[Worker] = []
        self._running: set[Call] = set()
        self._closed = False

    async def load(self) -> dict[str, str]:
        """Compile the component. Returns the signatures of what it exports; those in an instance as `instance#name`.

        Raises:
            ComponentError: it is invalid, or imports what kaa does not offer.
        """
        worker = await _in_thread(self._new_worker)
        _check_imports(worker.imports, self._offered)
        self._idle.append(worker)
        return worker.exports

    async def call(self, export: str, *arguments: object, context: HostContext | None = None) -> object:
        """Call an export, as `load` named it.

        Args:
            export: the export.
            arguments: as its type wants them.
            context: what host functions work with.

        Raises:
            ComponentError: it trapped, used up a limit, or was unloaded.
        """
        worker = self._idle.pop() if self._idle else await _in_thread(self._new_worker)
        if self._closed:
            raise ComponentError("the extension was unloaded")
        call = Call(asyncio.get_running_loop(), export, arguments, context)
        self._running.add(call)
        work = asyncio.ensure_future(_in_thread(lambda: self._run(worker, call)))
        try:
            async with asyncio.timeout(self._limits.seconds) as call.clock:
                return await asyncio.shield(work)
        except TimeoutError as error:
            raise ComponentError(
                f"{call.name} took over {self._limits.seconds:g} seconds: do less in a call, or raise limits.seconds in"
                " extension.toml"
            ) from error
        finally:
            call.stop()
            self._running.discard(call)
            await _settled(work)
            if len(self._idle) < _MAX_IDLE:
                self._idle.append(worker)

    def close(self) -> None:
        """End all calls."""
        self._closed = True
        for call in tuple(self._running):
            call.stop()
        self._idle.clear()

    def _new_worker(self) -> "Worker":
        return Worker(self._files, self._data, self._offered)

    def _run(self, worker: "Worker", call: "Call") -> object:
        output = bytearray()
        try:
            return worker.run(call, self._limits, output)
        finally:
            for line in output.decode(errors="replace").splitlines():
                LOG.info("extension %s printed: %s", self._name, line)


def _check_imports(imports: dict[str, str], offered: HostFunctions) -> None:
    known = {f"{name}#{part}": one.kind for name, parts in offered.items() for part, one in parts.items()}
    for name, kind in imports.items():
        if name in known and kind != known[name]:
            raise ComponentError(f"it imports {name} as {kind}: expected {known[name]}. Build it with the WIT of kaa")
        if not name.startswith(_WASI) and name not in known:
            raise ComponentError(
                f"it imports {' of '.join(reversed(name.split('#')))}, which this kaa does not offer: use"
                f" {', '.join(sorted(offered))} and WASI 0.2 without http"
            )


async def _in_thread(work: Callable[[], ResultT]) -> ResultT:
    """Do something in a thread that does not keep the process from ending, as a compiler cannot be interrupted."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[ResultT] = loop.create_future()

    def finish(set_outcome: Callable[[], None]) -> None:
        if not done.done():  # nobody waits any more
            set_outcome()

    def run() -> None:
        outcome: Callable[[], None]
        try:
            result = work()
            outcome = lambda: done.set_result(result)  # noqa: E731
        except BaseException as error:  # noqa: BLE001 it is raised where the work was asked for
            problem = error
            outcome = lambda: done.set_exception(problem)  # noqa: E731
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, outcome)

    threading.Thread(target=run, name="component", daemon=True).start()
    return await done


async def _settled(work: "asyncio.Future[object]") -> None:
    """Wait until a thread is free again, whatever came of its work; it was interrupted."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if not work.cancelled():
        work.exception()  # it is raised already, or of no interest
    if cancelled is not None:
        raise cancelled
