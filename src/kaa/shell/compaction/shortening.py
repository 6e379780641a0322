"""Shortens results of tools as extensions want it: for the model, not in the session, which keeps the whole ones.

Each shortened result is an entry of its own (`context_edit`, as pi knows it), so a resumed session has the same
conversation, and going back to an entry before it restores the result.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec

from kaa.core.agent import Agent
from kaa.core.events import ResultsShortened
from kaa.core.messages import AssistantMessage, Message, ToolResultMessage, Usage
from kaa.core.usage import estimate
from kaa.ext.api import ResultsRequest, ShortenResults
from kaa.ext.registry import Registry
from kaa.session.context import visible_path
from kaa.session.edits import message_of, read_edits
from kaa.session.entries import ContextEdit, EditedContent
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node

_Key: TypeAlias = tuple[str, int]
"""Tells results apart, also of servers that number the calls of each reply from the beginning."""


class ResultShortening:
    """Asks extensions before each request of one agent."""

    def __init__(self, agent: Agent, store: SessionStore, recorder: SessionRecorder, registry: Registry) -> None:
        self._agent = agent
        self._store = store
        self._recorder = recorder
        self._registry = registry

    async def before_request(self) -> None:
        """Shorten what an extension wants shortened.

        Raises:
            SessionError: the session cannot be read or written.
        """
        lasting = frozenset(tool.name for tool in self._registry.tools if tool.lasting)
        request = ResultsRequest(self._agent.model, tuple(self._agent.messages), lasting)
        wanted = await self._registry.session.shorten_results(request)
        if wanted is not None and (shorter := _shorter(request, wanted)):
            await self._shorten(shorter, wanted.reason)

    async def _shorten(self, shorter: Mapping[_Key, ToolResultMessage], reason: str) -> None:
        entries = await asyncio.to_thread(_entry_ids, self._store, self._store.tree.path(), shorter.keys())
        found = {key: message for key, message in shorter.items() if key in entries}
        if not found:
            return
        self._recorder.note_all(
            ContextEdit(target_id=entries[key], replacement=EditedContent(message.content))
            for key, message in found.items()
        )
        before = self._agent.messages
        after = _with(before, found)
        saved = sum(estimate(old) - estimate(new) for old, new in zip(before, after, strict=True))
        self._agent.condense(after)
        self._agent.emit(ResultsShortened(reason, len(found), saved))


def _key(message: ToolResultMessage) -> _Key:
    return message.tool_call_id, message.timestamp


def _shorter(request: ResultsRequest, wanted: ShortenResults) -> dict[_Key, ToolResultMessage]:
    """What of it may be done: results of the conversation, not of lasting tools, and not larger than before."""
    results = {_key(one): one for one in request.messages if isinstance(one, ToolResultMessage)}
    return {
        _key(new): msgspec.structs.replace(old, content=new.content)
        for new in wanted.results
        if (old := results.get(_key(new))) is not None
        and old.tool_name not in request.lasting
        and new.content
        and estimate(new) < estimate(old)
    }


def _entry_ids(store: SessionStore, path: Sequence[Node], wanted: Collection[_Key]) -> dict[_Key, str]:
    """The entries of these results, of those that the model sees."""
    _, nodes = visible_path(store, path)
    edits = read_edits(store, nodes)
    found: dict[_Key, str] = {}
    for node in nodes:
        entry = read_entry(store, node) if node.type == "message" else None
        message = message_of(entry, node.id, edits) if entry is not None else None
        if isinstance(message, ToolResultMessage) and _key(message) in wanted:
            found[_key(message)] = node.id
    return found


def _with(messages: Sequence[Message], shorter: Mapping[_Key, ToolResultMessage]) -> list[Message]:
    """The messages with the shorter results. What replies behind the first one measured is not the size any more."""
    changed: list[Message] = []
    is_behind = False
    for message in messages:
        match message:
            case ToolResultMessage() if _key(message) in shorter:
                is_behind = True
                changed.append(shorter[_key(message)])
            case AssistantMessage() if is_behind:
                changed.append(msgspec.structs.replace(message, usage=Usage()))
            case _:
                changed.append(message)
    return changed
