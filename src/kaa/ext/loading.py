"""Loads an extension in a thread of its own: code that hangs holds up neither the event loop nor the end of kaa."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import Extension
from kaa.ext.extensions import Extensions
from kaa.ext.misuse import load_failure
from kaa.ext.places import ExtensionId, kind_of
from kaa.ext.scope import Scope


class Loading:
    """The loading of one extension, which begins at once.

    A Python module is executed in the thread, with its `extend`. The `extend` of the other kinds is kaa's own and runs
    on the event loop. What registers after kaa gave the loading up gets a `RegistrationError`.

    Args:
        extensions: those of the process; see `Extensions.admit` for what comes next.
        extension: which one.
        find: gives its `extend` function; called in the thread.
        seconds: how long it may take.
    """

    def __init__(
        self, extensions: Extensions, extension: ExtensionId, find: Callable[[], Extension], seconds: float
    ) -> None:
        self._extensions = extensions
        self.extension = extension
        self._find = find
        self._scope = Scope(extension)
        self._began = time.perf_counter()
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Scope] = self._loop.create_future()
        late = f"it took over {seconds:g} seconds"
        self._deadline = self._loop.call_later(seconds, self.give_up, late)
        # Not of an executor, which Python waits for at its end.
        threading.Thread(target=self._run, name=f"kaa extension {extension.name}", daemon=True).start()

    async def wait(self, seconds: float) -> bool:
        """Wait for its end, but not longer. Returns whether it has ended, in whatever way."""
        await asyncio.wait([self._done], timeout=seconds)
        return self._done.done()

    async def finished(self) -> Scope:
        """What it registered.

        Raises:
            ExtensionError: it failed, or was given up.
        """
        try:
            return await self._done
        except asyncio.CancelledError:
            self.give_up("kaa ends")
            raise

    def give_up(self, why: str) -> None:
        """Do without it, if it has not ended: `finished` raises `why`."""
        self._settle(ExtensionError(f"Extension {self.extension} failed to load: {why}"))

    def _run(self) -> None:
        """In the thread."""
        outcome: Extension | ExtensionError | None = None
        try:
            extend = self._find()
            if kind_of(Path(self.extension.path)) == "python":
                self._extensions.register(self._scope, extend)
            else:
                outcome = extend
        except ExtensionError as error:
            outcome = error
        except BaseException as error:  # noqa: BLE001 isolation boundary: this thread has nobody above it
            outcome = load_failure(self.extension.path, error)
        with suppress(RuntimeError):  # kaa has ended meanwhile
            self._loop.call_soon_threadsafe(self._finish, outcome)

    def _finish(self, outcome: Extension | ExtensionError | None) -> None:
        if self._done.done():
            return
        if outcome is not None and not isinstance(outcome, ExtensionError):
            try:
                self._extensions.register(self._scope, outcome)
                outcome = None
            except ExtensionError as error:
                outcome = error
        self._scope.costs.load_seconds = time.perf_counter() - self._began
        self._settle(outcome)

    def _settle(self, error: ExtensionError | None) -> None:
        if self._done.done():
            return
        self._deadline.cancel()
        if error is None:
            self._done.set_result(self._scope)
        else:
            self._extensions.drop(self._scope)
            self._done.set_exception(error)
            self._done.exception()  # it is told where somebody waits
