"""A session as lines of JSON, for other programs: pi and kaa open what this writes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO

import msgspec

from kaa.session.entries import SessionHeader
from kaa.session.export.agents import agent_session, agents_in
from kaa.session.export.selection import ExportSelection, pick, picked, redacted_object, remarks, selected_nodes
from kaa.session.export.source import SessionSource
from kaa.session.export.totals import Totals
from kaa.session.file.decoding import read_head
from kaa.session.file.jsonl import encode_line, encode_object, lenient_object
from kaa.session.tree import Node


def write_lines(source: SessionSource, selection: ExportSelection, out: BinaryIO) -> Totals:
    """Write header and entries; unless something is left out or damaged, the entries byte for byte.

    Of one branch, the session's name and the labels of its entries come along from wherever they were given.

    Raises:
        OSError: `out` cannot be written.
        SessionError: the session cannot be read any more.
    """
    out.write(_header_line(source.header, selection))
    totals = Totals()
    for entry in pick(source, selection):
        totals.add(entry.fields)
    is_whole = selection.thinking and selection.tools and selection.redactor is None
    for node, parent in _linked(source, selection):
        if is_whole:
            out.write(_line_below(source.line(node), parent) + b"\n")
        elif (chosen := picked(source, node, selection)) is not None:
            out.write(encode_object({**chosen.fields, "parentId": parent}))
    return totals


def write_agent_lines(
    source: SessionSource, selection: ExportSelection, create: Callable[[str], AbstractContextManager[BinaryIO]]
) -> tuple[Totals, ...]:
    """Write the sessions of the agents of a session, each as a file of its own, as `agents_folder` has them.

    Args:
        selection: what goes in; the whole of each agent that began in the selected entries.

    Raises:
        OSError: a file cannot be written.
        SessionError: a session cannot be read any more.
    """
    whole = msgspec.structs.replace(selection, all_branches=True)
    totals = []
    for agent in agents_in(source, selection):
        with agent_session(source, agent.id) as (session, _):
            if session is not None:
                with create(session.path.name) as out:
                    totals.append(write_lines(session, whole, out))
    return tuple(totals)


def _header_line(header: SessionHeader, selection: ExportSelection) -> bytes:
    if selection.redactor is None:
        return encode_line(header)
    return encode_object(redacted_object(msgspec.to_builtins(header), selection.redactor))


def _linked(source: SessionSource, selection: ExportSelection) -> Iterator[tuple[Node, str | None]]:
    """The entries and the ids of their parents."""
    nodes = selected_nodes(source, selection)
    for node in nodes:
        yield node, node.parent.id if node.parent is not None else None
    if selection.all_branches:
        return
    last = nodes[-1].id if nodes else None
    for node in remarks(source, nodes):
        yield node, last
        last = node.id


def _line_below(line: bytes, parent: str | None) -> bytes:
    """The line as it is, if it names this parent; pi loses everything before an entry whose parent is missing."""
    head = read_head(line)
    if head is not None and head.parent_id == parent and head.id is not None:
        return line
    fields = lenient_object(line)
    if fields is None:
        return line
    fields["parentId"] = parent
    return encode_object(fields).rstrip(b"\n")
