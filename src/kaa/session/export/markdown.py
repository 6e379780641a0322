"""The current branch of a session as Markdown, to be read and quoted."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

import msgspec

from kaa.core.display_values import Code, Diff, DisplayValue, Fields, Markdown, Table, Text, table_lines, values_in
from kaa.core.messages import Json
from kaa.core.terminal_text import plain_text
from kaa.session.as_user_message import label_of
from kaa.session.compaction import undoing
from kaa.session.export.agents import MOST_NESTED, ExportedAgent, agent_session, agents_in, redacted
from kaa.session.export.page import title_of
from kaa.session.export.selection import ExportSelection, Picked, pick, picked
from kaa.session.export.source import SessionSource
from kaa.session.export.totals import Totals
from kaa.session.tree import Node

_BACKTICKS = re.compile("`{3,}")


def write_markdown(source: SessionSource, selection: ExportSelection, out: BinaryIO) -> Totals:
    """Write the transcript. Calls of tools and thinking fold away where HTML does; images are only named.

    Raises:
        OSError: `out` cannot be written.
        SessionError: the session cannot be read any more.
    """
    branch = msgspec.structs.replace(selection, all_branches=False)
    totals = Totals()
    out.write(f"# {_one_line(title_of(source, branch))}\n".encode("utf-8", "replace"))
    agents = _Agents(source, branch, totals)
    out.writelines(f"\n{part}\n".encode("utf-8", "replace") for part in _Talk(source, branch, agents, totals).parts())
    return totals


class _Talk:
    """The conversation of a session, or of an agent.

    Args:
        agent: the id of the agent whose session it is; None for the conversation's own.
    """

    def __init__(
        self,
        source: SessionSource,
        selection: ExportSelection,
        agents: "_Agents",
        totals: Totals,
        agent: str | None = None,
    ) -> None:
        self._source = source
        self._selection = selection
        self._agents = agents
        self._agent = agent
        self._totals = totals
        self._results = _Results(source, selection)

    def parts(self) -> Iterator[str]:
        for entry in pick(self._source, self._selection):
            self._totals.add(entry.fields)
            yield from self._parts(entry)

    def _parts(self, entry: Picked) -> Iterator[str]:
        match entry.fields:
            case {"type": "message", "message": {"role": "assistant"} as message}:
                yield f"## {_one_line(message.get('model') or 'Assistant')}"
                for block in _blocks(message.get("content")):
                    yield from self._block(block, str(entry.fields.get("timestamp")))
                if message.get("stopReason") in ("error", "aborted"):
                    yield f"> {_one_line(message.get('errorMessage') or 'Stopped.')}"
            case {"type": "custom", "customType": "agent"}:
                yield from self._agents.begun_at(entry.node)
            case fields:
                yield from _parts(fields, self._selection)

    def _block(self, block: Mapping[str, Json], since: str) -> Iterator[str]:
        match block:
            case {"type": "text", "text": str() as text} if text.strip():
                yield text.strip()
            case {"type": "thinking", "thinking": str() as thinking} if thinking.strip():
                yield _folded("Thinking", thinking.strip())
            case {"type": "toolCall", "id": call_id}:
                result, until = self._results.take(str(call_id))
                yield _call(block, result, self._agents.begun_by(self._agent, str(call_id), since, until))
            case _:
                return


class _Agents:
    """The agents of a conversation, each told once: under the call that began it, or where it began without one."""

    def __init__(self, source: SessionSource, selection: ExportSelection, totals: Totals) -> None:
        self._source = source
        self._selection = selection
        self._totals = totals
        self._depth = 0
        self._waiting = {agent.id: agent for agent in agents_in(source, selection)}

    def begun_by(self, caller: str | None, call_id: str, since: str, until: str) -> Iterator[str]:
        """Those that a call began. Some providers repeat the ids of calls, so its time counts, too.

        Args:
            caller: whose call it is; None for the conversation's own.
            since: when it was made, as entries have it.
            until: when it ended, likewise; empty if it did not.
        """
        for agent in list(self._waiting.values()) if self._depth < MOST_NESTED else ():
            _, begun, timestamp = agent.beginnings[0]
            is_then = since <= timestamp and (not until or timestamp <= until)
            if is_then and begun.call == call_id and begun.parent == caller:
                yield self._told(agent)

    def begun_at(self, node: Node) -> Iterator[str]:
        """The one whose beginning this entry notes, if no call told of it."""
        for agent in list(self._waiting.values()):
            if agent.beginnings[0].node is node:
                yield self._told(agent)

    def _told(self, agent: ExportedAgent) -> str:
        del self._waiting[agent.id]
        counted = Totals()
        self._depth += 1
        task = _one_line(redacted(agent.beginnings[0].begun.task, self._selection))
        with agent_session(self._source, agent.id) as (source, problem):
            parts = [f"*{problem}*"] if problem else []
            if source is not None:
                parts += _Talk(source, self._selection, self, counted, agent.id).parts()
        self._depth -= 1
        self._totals.add_agent(counted)
        outcome = redacted(agent.outcome, self._selection)
        return _folded(f"Agent {agent.id}: {task} ({outcome})", "\n\n".join(parts))


class _Results:
    """Where the results of tools are, by the ids of their calls. They may be long, so they stay in the file."""

    def __init__(self, source: SessionSource, selection: ExportSelection) -> None:
        self._source = source
        self._selection = selection
        self._nodes: dict[str, deque[Node]] = {}
        for entry in pick(source, selection) if selection.tools else ():
            message = entry.fields.get("message")
            if isinstance(message, dict) and message.get("role") == "toolResult":
                self._nodes.setdefault(str(message.get("toolCallId")), deque()).append(entry.node)

    def take(self, call_id: str) -> tuple[Mapping[str, Json] | None, str]:
        """The next result of a call with this id, which with some providers there are several of; and its time."""
        waiting = self._nodes.get(call_id)
        entry = picked(self._source, waiting.popleft(), self._selection) if waiting else None
        message = entry.fields.get("message") if entry is not None else None
        if entry is None or not isinstance(message, dict):
            return None, ""
        return message, str(entry.fields.get("timestamp"))


def _parts(fields: Mapping[str, Json], selection: ExportSelection) -> Iterator[str]:
    """Those of an entry that is not a reply."""
    match fields:
        case {"type": "message", "message": {"role": "user"} as message}:
            yield f"## You\n\n{_said(message.get('content'))}"
        case {"type": "message", "message": {"role": "bashExecution"} as message}:
            output = _fenced(plain_text(str(message.get("output", "")))) if selection.tools else ""
            yield f"## You ran\n\n{_fenced(str(message.get('command', '')), 'sh')}\n\n{output}".rstrip()
        case {"type": "compaction", "summary": undoing.WHOLE}:
            return  # a compaction was taken back, and here nothing is left out anyway
        case {"type": "compaction", "summary": str() as summary}:
            yield _folded("Compaction: what was said before, in short", summary)
        case {"type": "branch_summary", "summary": str() as summary}:
            yield _folded("Summary of a branch that was left", summary)
        case {"type": "custom_message", "display": True, "content": content} as note:
            yield _by_extension(note, _displayed(note.get("details")) or _said(content))
        case {"type": "custom", "display": values} as note if shown := _displayed({"display": values}):
            yield _by_extension(note, shown)
        case _:
            return


def _call(call: Mapping[str, Json], result: Mapping[str, Json] | None, agents: Iterable[str]) -> str:
    arguments = call.get("arguments")
    subject = ""
    given = arguments if isinstance(arguments, dict) else {}
    for name in ("command", "path", "pattern"):
        if isinstance(value := given.get(name), str):
            subject = f": {_one_line(value)[:80]}"
            break
    parts = [_asked(given)]
    state = " (no result)"
    if result is not None:
        state = " (failed)" if result.get("isError") else ""
        details = result.get("details")
        if isinstance(details, dict) and isinstance(diff := details.get("diff"), str):
            parts.append(_fenced(diff, "diff"))
        parts.append(_displayed(details) or _result(result))
    parts += agents
    return _folded(f"{call.get('name')}{subject}{state}", "\n\n".join(part for part in parts if part))


def _asked(arguments: dict[str, Json]) -> str:
    match arguments:
        case {"command": str() as command, **rest} if not rest:
            return _fenced(command, "sh")
        case {"path": str(), "content": str() as content, **rest} if not rest:
            return _fenced(content)
        case _:
            return _fenced(msgspec.json.format(_json(arguments), indent=2), "json")


def _json(value: dict[str, Json]) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # unpaired surrogates
        return "{}"


def _by_extension(note: Mapping[str, Json], text: str) -> str:
    return f"## {_one_line(label_of(str(note.get('customType') or 'Extension')))}\n\n{text}"


def _displayed(details: Json) -> str:
    """The display values of an extension; empty without valid ones."""
    return "\n\n".join(filter(None, map(_display_value, values_in(details))))


def _display_value(value: DisplayValue) -> str:
    match value:
        case Text(text=text) | Markdown(text=text):
            return text.strip()
        case Diff(text=text):
            return _fenced(text, "diff")
        case Code(text=text, language=language):
            return _fenced(text, re.sub(r"[^\w.+#-]", "", language))
        case Fields(fields=fields):
            return "\n".join(f"- {_one_line(name)}: {_one_line(text)}" for name, text in fields)
        case Table():
            return "\n".join(table_lines(value))


def _result(result: Mapping[str, Json]) -> str:
    texts = [str(block["text"]) for block in _blocks(result.get("content")) if isinstance(block.get("text"), str)]
    shown = plain_text("\n".join(texts)).rstrip()
    return "\n\n".join(filter(None, (_fenced(shown) if shown else "", *_images(result.get("content")))))


def _said(content: Json) -> str:
    if isinstance(content, str):
        return content.strip()
    texts = [str(block["text"]).strip() for block in _blocks(content) if isinstance(block.get("text"), str)]
    return "\n\n".join((*texts, *_images(content)))


def _images(content: Json) -> list[str]:
    return [f"*[image, {block.get('mimeType')}]*" for block in _blocks(content) if block.get("type") == "image"]


def _blocks(content: Json) -> Iterable[Mapping[str, Json]]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else ()


def _folded(summary: str, text: str) -> str:
    import html  # lazy: a start does not need it

    return f"<details>\n<summary>{html.escape(_one_line(summary))}</summary>\n\n{text.strip()}\n\n</details>"


def _fenced(text: str, language: str = "") -> str:
    """In a fence longer than any in the text."""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=2))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _one_line(text: Json) -> str:
    return " ".join(str(text).split())
