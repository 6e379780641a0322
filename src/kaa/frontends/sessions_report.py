"""What `kaa sessions` tells people. Foreign text is shown as it is, and nothing in it is obeyed by a terminal."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from kaa.builtin.amounts import counted, dollars
from kaa.builtin.columns import aligned
from kaa.session.catalogue.records import SearchHit, SessionSummary, UsageRow
from kaa.tui.sanitize import sanitize, squeezed

if TYPE_CHECKING:
    from kaa.session.upkeep.health import Health
    from kaa.session.upkeep.repair import Repaired
    from kaa.shell.sessions import TrashedSession

# The time in a session's id to the millisecond: enough to tell any two apart.
_ID_LENGTH = 13
_TITLE_LENGTH = 80
_STRONG, _PLAIN = "\x1b[1m", "\x1b[22m"


def list_lines(sessions: Iterable[SessionSummary], *, with_cwd: bool) -> list[str]:
    """A table of sessions: id, last said, messages, directory where it is asked for, title."""
    return aligned([_row(summary, with_cwd=with_cwd) for summary in sessions], left=5)


def trash_lines(sessions: Iterable["TrashedSession"]) -> list[str]:
    """A table of the sessions in the trash: id, when they were moved there, messages, where they came from, title."""
    rows = [(_row(one.summary, with_cwd=True), one.place.deleted.replace("T", " ")[:16]) for one in sessions]
    return aligned([(row[0], deleted or "-", *row[2:]) for row, deleted in rows], left=5)


def _row(summary: SessionSummary, *, with_cwd: bool) -> tuple[str, ...]:
    title = squeezed(summary.title)
    shown = title if len(title) <= _TITLE_LENGTH else f"{title[: _TITLE_LENGTH - 1]}…"
    return (
        sanitize(summary.id[:_ID_LENGTH]),
        _moment(summary.modified_ms),
        f"{summary.message_count:>5}",
        *([squeezed(summary.cwd)] if with_cwd else []),
        f"(pi) {shown}" if summary.origin == "pi" else shown,
    )


def _moment(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(milliseconds / 1000))


def hit_lines(hits: Iterable[SearchHit], *, emphasize: bool) -> Iterator[str]:
    """The places found, below the session they are in.

    Args:
        hits: those of a session one after the other.
        emphasize: whether what was found is to stand out, as on a terminal.
    """
    last = None
    strong, plain = (_STRONG, _PLAIN) if emphasize else ("", "")
    for hit in hits:
        if hit.session.path != last:
            last = hit.session.path
            yield "  ".join(_row(hit.session, with_cwd=True))
        after = hit.after.partition("\n")[0]
        yield f"    {squeezed(hit.before + '|')[:-1]}{strong}{squeezed(hit.match)}{plain}{squeezed('|' + after)[1:]}"


def facts(summary: SessionSummary, costs: Iterable[tuple[UsageRow, float | None]]) -> Iterator[str]:
    """All that is known of one session; `costs` are what was used, and dollars where they are known."""
    rows: Mapping[str, object] = {
        "title": summary.title,
        "id": summary.id,
        "file": summary.path,
        "directory": summary.cwd,
        "begun": _moment(summary.created_ms) if summary.created_ms else None,  # a damaged header may not say
        "last": _moment(summary.modified_ms),
        "messages": f"{summary.message_count:,}",
        "size": f"{summary.size:,} bytes",
        "copied from": summary.parent,
        "kept by": summary.origin,
    }
    yield from (f"{name:<12} {squeezed(str(value))}" for name, value in rows.items() if value)
    yield from (_used(row, cost) for row, cost in costs)


def _used(row: UsageRow, cost: float | None) -> str:
    model = squeezed(f"{row.provider}/{row.model}")
    replies = counted(row.replies, "reply", "replies")
    taken = row.input + row.cache_read + row.cache_write
    return f"{row.day:<12} {model}: {replies}, {taken:,} in, {row.output:,} out, {dollars(cost)}"


def health_lines(health: "Health") -> Iterator[str]:
    """How a session is, and what is unusual in it."""
    state = "sound" if health.is_sound else "to be repaired"
    yield f"{sanitize(str(health.path))}: {state}, {counted(health.entries, 'entry', 'entries')}"
    for finding in health.findings:
        place = f"line {finding.line}" if finding.line else "file"
        yield f"  {place}: {finding.severity}: {sanitize(finding.text)}"


def repair_lines(repaired: "Repaired") -> Iterator[str]:
    """What was written, and where what was there is now."""
    mended = counted(repaired.mended, "entry", "entries")
    yield f"repaired: {sanitize(str(repaired.session))} ({mended} mended)"
    yield f"  as it was: {sanitize(str(repaired.original))}"
    if repaired.damaged is not None:
        yield f"  what cannot be read: {sanitize(str(repaired.damaged))}"
