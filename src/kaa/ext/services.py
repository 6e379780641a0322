"""The background work of extensions in one conversation."""

import asyncio
from collections.abc import Callable, Iterable

from kaa.ext.calling import Report, awaitable, failed
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionFailedError
from kaa.ext.hooks import Service
from kaa.ext.scope import Scope

# The user waits for the prompt of the shell.
_END_SECONDS = 5


class Services:
    """Runs the services of the extensions as they are at the moment. None is started twice.

    Args:
        scopes: gives the extensions as they are at the moment.
        context: of the conversation.
        report: gets failures.
    """

    def __init__(self, scopes: Callable[[], Iterable[Scope]], context: ConversationContext, report: Report) -> None:
        self._scopes = scopes
        self._context = context
        self._report = report
        self._tasks: dict[tuple[Scope, Service], asyncio.Task[None]] = {}  # in the order in which they were started
        self._ending: set[asyncio.Task[None]] = set()

    def refresh(self) -> None:
        """Start services that are new, and cancel those that are gone."""
        wanted = [(scope, service) for scope in self._scopes() for service in scope.services]
        for key in wanted:
            if key not in self._tasks:
                self._tasks[key] = asyncio.ensure_future(self._run(*key))
        for key in self._tasks.keys() - set(wanted):
            task = self._tasks.pop(key)
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Cancel all, the last one first, and wait for each, but not long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _END_SECONDS
        while self._tasks:
            (scope, service), task = self._tasks.popitem()
            task.cancel()
            await asyncio.wait([task], timeout=max(0.0, deadline - loop.time()))
            if not task.done():
                problem = f"did not end within {_END_SECONDS} seconds of its cancellation"
                self._report(ExtensionFailedError(scope.extension.path, _title(service), problem))
        await self.settled(max(0.0, deadline - loop.time()))

    async def settled(self, seconds: float = _END_SECONDS) -> None:
        """Wait for those that were cancelled, but not long."""
        if self._ending:
            await asyncio.wait(self._ending, timeout=seconds)

    async def _run(self, scope: Scope, service: Service) -> None:
        try:
            await awaitable(service(self._context.of_extension(scope)))
        except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: the conversation goes on without it
            self._report(failed(scope, _title(service), error, "; kaa does not start it again"))


def _title(service: Service) -> str:
    return f"service {getattr(service, '__name__', '')}".rstrip()
