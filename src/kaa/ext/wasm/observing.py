"""Passes events to a component: one after another, in the background, as many as it keeps up with."""

import asyncio
from collections import deque

import msgspec

from kaa.core.events import Event
from kaa.ext.context import ConversationContext
from kaa.ext.wasm.errors import ComponentError
from kaa.ext.wasm.machine import Machine
from kaa.llm.unicode_text import clean

_MAX_WAITING = 200


class EventQueue:
    """Events that wait for the component. The oldest are dropped when there are too many.

    Args:
        machine: the component.
        export: gets each event.
        wanted: types of events.
    """

    def __init__(self, machine: Machine, export: str, wanted: frozenset[str]) -> None:
        self._machine = machine
        self._export = export
        self._wanted = wanted
        self._waiting: deque[tuple[Event, ConversationContext]] = deque(maxlen=_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._failure: ComponentError | None = None

    def add(self, event: Event, context: ConversationContext) -> None:
        """Take an event, if it is wanted; the handler of the extension.

        Raises:
            ComponentError: the component failed at an earlier one; kaa reports it and does not call this again.
        """
        if self._failure is not None:
            raise self._failure
        if event.__struct_config__.tag not in self._wanted:
            return
        self._waiting.append((event, context))
        if self._task is None:
            self._task = asyncio.create_task(self._pass_on())

    def close(self) -> None:
        """Drop what waits."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _pass_on(self) -> None:
        try:
            while self._waiting:
                event, context = self._waiting.popleft()
                text = clean(msgspec.json.encode(event).decode())
                await self._machine.call(self._export, text, context=context)
        except ComponentError as error:
            self._failure = error
            self._waiting.clear()
        finally:
            self._task = None
