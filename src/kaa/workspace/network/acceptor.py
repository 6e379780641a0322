"""Accepting connections and owning the tasks that serve them."""

import asyncio
import contextlib
import errno
import functools
import socket
from collections.abc import Callable, Coroutine

# Out of descriptors or memory: others will give some back.
_PASSING_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_RETRY_SECONDS = 0.2
# What accept reports of a connection instead of the listener; accept(2), "Error handling".
_CONNECTION_ERRORS = frozenset(
    {errno.ECONNABORTED, errno.EINTR, errno.EPROTO, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPERM}
)


class Acceptor:
    """Serves each connection to its listeners in a task of its own.

    Args:
        serve: takes a connected socket and returns when it is done with it.
        limit: connections at a time. More wait in the queue of the listener.
    """

    def __init__(self, serve: Callable[[socket.socket], Coroutine[None, None, None]], limit: int) -> None:
        self._serve = serve
        self._limit = limit
        self._listeners: set[socket.socket] = set()
        self._paused: set[socket.socket] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None

    def attach(self, listener: socket.socket) -> None:
        """Accept what comes to a listening socket, which the acceptor owns from now on. Needs a running loop."""
        listener.setblocking(False)
        self._listeners.add(listener)
        asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    async def close(self) -> None:
        """Close the listeners, cancel what runs and wait for its end."""
        for listener in tuple(self._listeners):
            self._detach(listener)
        if self._retry is not None:
            self._retry.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, listener: socket.socket) -> None:
        if len(self._tasks) >= self._limit:
            self._pause(listener)
            return
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in _PASSING_ERRORS:
                self._pause(listener)
                self._retry = asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._resume)
            elif error.errno not in _CONNECTION_ERRORS:  # whoever shares the listener has shut it down
                self._detach(listener)
            return
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(functools.partial(self._served, connection))

    def _served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        connection.close()  # here and not in the task, which may be cancelled before it begins
        self._tasks.discard(task)
        self._resume()
        if not task.cancelled() and (error := task.exception()) is not None:
            # A defect of ours: it must not take the other connections with it, nor pass unseen.
            context = {"message": "a connection was not served", "exception": error, "task": task}
            asyncio.get_running_loop().call_exception_handler(context)

    def _pause(self, listener: socket.socket) -> None:
        asyncio.get_running_loop().remove_reader(listener)
        self._paused.add(listener)

    def _resume(self) -> None:
        while self._paused:
            listener = self._paused.pop()
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _detach(self, listener: socket.socket) -> None:
        self._listeners.discard(listener)
        self._paused.discard(listener)
        with contextlib.suppress(ValueError):  # its descriptor is closed already
            asyncio.get_running_loop().remove_reader(listener)
        listener.close()
