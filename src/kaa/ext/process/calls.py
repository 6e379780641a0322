"""Which conversation a message of an extension process is about. One process serves all conversations of kaa."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kaa.core.messages import Json
from kaa.ext.context import ConversationContext, ToolContext


class Calls:
    """The conversations that use a process, the requests of kaa that it has not answered, and its own requests."""

    def __init__(self) -> None:
        self._open: dict[str, ConversationContext] = {}
        self._unanswered: list[ConversationContext] = []
        self._last: ConversationContext | None = None
        self._served: dict[asyncio.Task[object], ConversationContext] = {}

    def opened(self, context: ConversationContext) -> None:
        """A conversation began."""
        self._open[context.conversation_id] = context
        self._last = context

    def closed(self, context: ConversationContext) -> None:
        """A conversation ended: what the process asked for in it is given up."""
        self._open.pop(context.conversation_id, None)
        if self._last is not None and self._last.conversation_id == context.conversation_id:
            self._last = next(reversed(self._open.values()), None)
        for task, served in tuple(self._served.items()):
            if served.conversation_id == context.conversation_id:
                task.cancel()

    @contextmanager
    def during(self, context: ConversationContext | None) -> Iterator[Mapping[str, Json]]:
        """Note that the process works for a conversation. Yields the parameter that says so."""
        if context is None:
            yield {}
            return
        self._last = self._open.get(context.conversation_id, context)  # not that of a command, which will have ended
        self._unanswered.append(context)
        try:
            yield {"conversation": {"id": context.conversation_id, "cwd": context.workspace.root}}
        finally:
            self._unanswered.remove(context)

    @contextmanager
    def serving(self, context: ConversationContext | None) -> Iterator[None]:
        """Note that the current task does what the process asked for."""
        task = asyncio.current_task()
        if context is None or task is None:
            yield
            return
        self._served[task] = context
        try:
            yield
        finally:
            del self._served[task]

    def stop(self, context: ConversationContext | None) -> None:
        """A call was stopped: give up what the process asked for because of it."""
        for task, served in tuple(self._served.items()):
            if served is context:
                task.cancel()

    def context_of(self, params: Mapping[str, Json]) -> ConversationContext | None:
        """What the process means: the tool call or the conversation that it names, else the last unanswered request.

        If all are answered, the conversation of the last request, or the last one that began.
        """
        if isinstance(call_id := params.get("callId"), str):
            for context in self._unanswered:
                if isinstance(context, ToolContext) and context.call_id == call_id:
                    return context
        named = params.get("conversation")
        if isinstance(named, dict) and isinstance(id_ := named.get("id"), str):
            unanswered = (one for one in reversed(self._unanswered) if one.conversation_id == id_)
            return next(unanswered, self._open.get(id_))
        return self._unanswered[-1] if self._unanswered else self._last
