"""The thread in which the agent works, with an event loop of its own. The user interface never waits for it.

Work is handed over as a function of the core (whatever `make` returns); its outcome comes back through `post`, as a
call in the thread of the user interface. What is handed over before the core is there waits.
"""

import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio

CoreT = TypeVar("CoreT")
ResultT = TypeVar("ResultT")

Post = Callable[[Callable[[], None]], None]

# The user interface takes turns this quickly while modules are imported beside it; Python's own value is 5 ms.
_IMPORTING_SWITCH_SECONDS = 0.001


class CoreThread(Generic[CoreT]):
    """Runs work of the core on its own thread.

    Args:
        make: imports what is heavy and returns the core; runs in the thread, before its event loop.
        close: ends the core, as the last thing on its event loop.
        post: runs a function in the thread of the user interface.
        on_crash: told, there, what `make`, `close` or the loop itself failed with.

    Attributes:
        failure: the same, for when nobody takes what is posted any more; None as long as nothing failed.
    """

    def __init__(
        self,
        make: Callable[[], CoreT],
        close: Callable[[CoreT], Awaitable[None]],
        post: Post,
        on_crash: Callable[[BaseException], None],
    ) -> None:
        self._make = make
        self._close = close
        self._post = post
        self._on_crash = on_crash
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._core: CoreT | None = None
        self._stopping: asyncio.Event | None = None
        self._stop_requested = False
        self.failure: BaseException | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="kaa-core", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def call(
        self,
        work: Callable[[CoreT], Awaitable[ResultT]],
        done: Callable[[ResultT], None] | None = None,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Have the core do something; may be called from any thread, at any time.

        Args:
            work: gets the core; calls made one after another begin in this order.
            done: gets the result, in the thread of the user interface.
            failed: gets the exception, there; without it the exception counts as a crash.
        """

        async def carried_out() -> None:
            assert self._core is not None
            try:
                result = await work(self._core)
            except Exception as error:  # noqa: BLE001 isolation boundary: whoever asked is told
                self._report(failed or self._on_crash, error)
            else:
                if done is not None:
                    self._report(done, result)

        with self._lock:
            if self._loop is None:
                self._waiting.append(carried_out)
                return
        with suppress(RuntimeError):  # it has ended, of itself: whoever is told of that ends the program
            self._loop.call_soon_threadsafe(self._begin, carried_out)

    @property
    def is_there(self) -> bool:
        """Whether the core was made: before, nothing is under way that would have to be waited for."""
        return self._loop is not None

    def stop(self, timeout: float) -> bool:
        """End the core and wait for it.

        Args:
            timeout: seconds to wait at most.

        Returns:
            Whether it ended in time.
        """
        with self._lock:
            self._stop_requested = True
            loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # it ended at this very moment
                loop.call_soon_threadsafe(stopping.set)
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _report(self, told: Callable[[ResultT], None], what: ResultT) -> None:
        self._post(lambda: told(what))

    def _run(self) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(_IMPORTING_SWITCH_SECONDS)
        try:
            import asyncio  # lazy: it takes longer to import than the first frame to paint

            self._core = self._make()
            sys.setswitchinterval(interval)
            asyncio.run(self._work_until_stopped())
        except BaseException as error:  # noqa: BLE001 isolation boundary: this thread has nobody above it
            self.failure = error
            self._report(self._on_crash, error)
        finally:
            sys.setswitchinterval(interval)

    async def _work_until_stopped(self) -> None:
        import asyncio

        stopping = asyncio.Event()
        with self._lock:
            self._loop, self._stopping = asyncio.get_running_loop(), stopping
            waiting, self._waiting = self._waiting, deque()
            if self._stop_requested:
                stopping.set()
        assert self._core is not None
        for work in waiting:
            self._begin(work)
        try:
            await stopping.wait()
        finally:
            await self._close(self._core)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        import asyncio

        task = asyncio.ensure_future(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
