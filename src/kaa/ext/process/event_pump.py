"""Sends events to a process, one after another, and never lets a conversation wait for it."""

import asyncio

from kaa.core import events
from kaa.core.events import Event
from kaa.ext.context import ConversationContext
from kaa.ext.process import conversion, wire
from kaa.ext.process.actions import ActionAnswer, Actions
from kaa.ext.process.process_run import NotRunningError
from kaa.ext.process.supervisor import Supervisor
from kaa.ext.process.wire import RpcError
from kaa.host.log import LOG

_MAX_WAITING = 1_000
# Deltas are the most of the events and the least worth; the others keep this room.
_MAX_WAITING_DELTAS = 500
_ANSWER_SECONDS = 60


class EventPump:
    """The events that wait for a process.

    Args:
        supervisor: has the process.
        actions: carries out what the process answers.
    """

    def __init__(self, supervisor: Supervisor, actions: Actions) -> None:
        self._supervisor = supervisor
        self._actions = actions
        self._waiting: asyncio.Queue[tuple[str, Event, ConversationContext]] = asyncio.Queue(_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._left_out = 0

    def put(self, event: Event, context: ConversationContext) -> None:
        """Send an event, if a handler of the process wants it. Events of agents that tools run are not sent."""
        name = "" if event.agent is not None else conversion.event_name(event)
        if not name or not self._supervisor.offers.wants(name):
            return
        is_delta = isinstance(event, events.MessageUpdate | events.ToolExecutionUpdate)
        if self._waiting.full() or (is_delta and self._waiting.qsize() >= _MAX_WAITING_DELTAS):
            self._left_out += 1
            return
        self._waiting.put_nowait((name, event, context))
        if self._task is None:
            self._task = asyncio.create_task(self._send())

    def close(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()

    async def _send(self) -> None:
        while True:
            name, event, context = await self._waiting.get()
            if self._left_out:
                LOG.warning("%d events were not sent to an extension that is too slow", self._left_out)
                self._left_out = 0
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    params = {"type": name, "data": conversion.event_data(event)}
                    answer = await self._supervisor.call("event/dispatch", params, context)
                self._actions.perform(wire.parse(answer or {}, ActionAnswer).action, context)
            except (RpcError, NotRunningError, TimeoutError) as error:
                LOG.warning("%s was not handled by an extension: %s: %s", name, type(error).__name__, error)
