"""Sessions and the tree of the session: `host/sessions`, `host/sessionFullTree`, `host/branchSession`."""

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from kaa.core.messages import Json
from kaa.ext.permissions import Permissions
from kaa.ext.process.services.caller import READS_SESSION, WRITES_SESSION, Caller
from kaa.ext.process.wire import INTERNAL_ERROR, RpcError, parse
from kaa.session.outline import Outline, OutlineRow


class _EntryId(msgspec.Struct, rename="camel", frozen=True):
    entry_id: str


class _Label(msgspec.Struct, rename="camel", frozen=True):
    label: str = ""
    target_id: str = ""


async def listed(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The sessions of this directory, the newest first."""
    caller.require(READS_SESSION)
    found = await caller.in_command().sessions.here()
    return {
        "sessions": [
            {
                "id": one.id,
                "title": one.title,
                "cwd": caller.host.project,
                "createdAt": _created(one.path),
                "path": one.path,
            }
            for one in found
        ]
    }


async def entries(_params: Mapping[str, Json], caller: Caller) -> Json:
    """Each entry of the session, without its content."""
    caller.require(READS_SESSION)
    outline = await caller.in_conversation().session.outline()
    children = Counter(row.parent_id for row in outline.rows)
    return {"entries": [_entry(row, children) for row in outline.rows]}


async def tree(_params: Mapping[str, Json], caller: Caller) -> Json:
    """Each entry with its place in the tree and the beginning of its text."""
    caller.require(READS_SESSION)
    outline = await caller.in_conversation().session.outline()
    children, depths = Counter(row.parent_id for row in outline.rows), _depths(outline)
    return {
        "nodes": [
            {
                **_entry(row, children),
                "onActivePath": row.is_current,
                "depth": depths[row.entry_id],
                "preview": row.text,
                "label": row.label or "",
            }
            for row in outline.rows
        ]
    }


async def label(params: Mapping[str, Json], caller: Caller) -> Json:
    """Give an entry a name; by default the last one. An empty text takes the name away."""
    caller.require(WRITES_SESSION)
    asked = parse(params, _Label)
    session = caller.in_conversation().session
    target = asked.target_id or (await session.outline()).leaf_id
    if target is None:
        raise RpcError(INTERNAL_ERROR, "the session has no entry yet")
    session.label(target, asked.label or None)
    return {}


async def branch(params: Mapping[str, Json], caller: Caller) -> Json:
    """Go on from an entry. Files stay as they are."""
    caller.require(WRITES_SESSION)
    await caller.in_command().navigation.travel(parse(params, _EntryId).entry_id)
    return {}


async def statistics(_params: Mapping[str, Json], caller: Caller) -> Json:
    """What the session used so far."""
    caller.require(READS_SESSION)
    command = caller.in_command()
    spent = command.usage.total
    return {
        "turnCount": len(command.navigation.points()),
        "totalInputTokens": spent.usage.input,
        "totalOutputTokens": spent.usage.output,
        "totalCacheReadTokens": spent.usage.cache_read,
        "totalCacheWriteTokens": spent.usage.cache_write,
        "totalCost": spent.usage.cost.total,
        "model": command.model_name,
    }


async def compact(_params: Mapping[str, Json], caller: Caller) -> Json:
    """Compact the conversation."""
    caller.require(Permissions(session="write", models=True))
    ended = await caller.in_command().compaction.compact()
    if ended.error:
        raise RpcError(INTERNAL_ERROR, f"the conversation was not compacted: {ended.error}")
    return {"before": ended.tokens_before or 0, "after": ended.tokens_after or 0}


async def changed_files(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The files that the session changed, with the sizes of what `/undo` restores at most."""
    caller.require(Permissions(project="read"))
    changes = await caller.in_command().navigation.changes()
    return {"snapshots": {change.path: len(change.before or b"") for change in changes.files}}


def _entry(row: OutlineRow, children: Mapping[str | None, int]) -> dict[str, Json]:
    return {
        "id": row.entry_id,
        "parentId": row.parent_id or "",
        "type": row.kind,
        "timestamp": datetime.fromtimestamp(row.timestamp / 1000, UTC).isoformat().replace("+00:00", "Z"),
        "children": children[row.entry_id],
    }


def _depths(outline: Outline) -> dict[str, int]:
    depths: dict[str, int] = {}
    for row in outline.rows:  # parents come before their children
        depths[row.entry_id] = 0 if row.parent_id is None else depths.get(row.parent_id, -1) + 1
    return depths


def _created(path: str) -> str:
    """When a session began, from the name of its file (`2026-01-31T12-00-00-000Z_ID.jsonl`); empty if unknown."""
    stamp = os.path.basename(path).partition("_")[0]
    day, _, time = stamp.partition("T")
    parts = time.removesuffix("Z").split("-")
    return f"{day}T{':'.join(parts[:3])}Z" if len(parts) >= 3 else ""
