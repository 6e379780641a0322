"""Which conversation a message of an extension process is about. One process serves all conversations of kaa."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kaa.core.messages import Json
from kaa.ext.context import ConversationContext


class Calls:
    """The conversations that use a process, and the requests of kaa that it has not answered."""

    def __init__(self) -> None:
        self._open: dict[str, ConversationContext] = {}
        self._unanswered: list[ConversationContext] = []
        self._last: ConversationContext | None = None

    def opened(self, context: ConversationContext) -> None:
        """A conversation began."""
        self._open[context.conversation_id] = context
        self._last = context

    def closed(self, context: ConversationContext) -> None:
        """A conversation ended."""
        self._open.pop(context.conversation_id, None)
        if self._last is not None and self._last.conversation_id == context.conversation_id:
            self._last = next(reversed(self._open.values()), None)

    def of(self, conversation_id: str) -> ConversationContext | None:
        """The context of a conversation; None if it is not open."""
        return self._open.get(conversation_id)

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

    def context_of(self, params: Mapping[str, Json]) -> ConversationContext | None:
        """The conversation that the process means: the one that it names, else that of the last unanswered request.

        If all are answered, that of the last request or of the last conversation that began.
        """
        named = params.get("conversation")
        if isinstance(named, dict) and isinstance(id_ := named.get("id"), str):
            return self._open.get(id_)
        return self._unanswered[-1] if self._unanswered else self._last
