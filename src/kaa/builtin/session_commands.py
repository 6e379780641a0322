"""What the slash commands do that go on in another session, or at another place of this one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.builtin.picking import pick
from kaa.ext.api import (
    BeginSession,
    CommandAction,
    CommandContext,
    CopySession,
    OpenSession,
    Reply,
    Suggestion,
)
from kaa.ext.errors import CommandError
from kaa.ext.navigation import PersonsMessage

if TYPE_CHECKING:
    from kaa.session.outline import Outline

_UNCHANGED = Reply("nothing was changed")
NO_MESSAGE = "there is no message to go back to"
NO_SEARCH_TEXT = 'give a text: /search words, a "phrase", or re:expression'
_TEXT_CHARACTERS = 80


async def new(_arguments: str, _context: CommandContext) -> CommandAction:
    """Begin a session."""
    return BeginSession("Started a new session. The previous session is saved.")


async def resume(arguments: str, context: CommandContext) -> CommandAction:
    """Continue with another session."""
    query = arguments
    if not query:
        listed = {one.id: one.title for one in await context.sessions.here()}
        if not listed:
            raise CommandError("there is no session of this directory yet")
        query = await pick(context.asker, "Which session?", listed, "/resume ID") or ""
        if not query:
            return _UNCHANGED
    path = await context.sessions.find(query)
    return OpenSession(path, f"The session continues with {path}. The previous session is saved.")


async def search(arguments: str, context: CommandContext) -> CommandAction:
    """Find a text in all sessions."""
    if not arguments:
        raise CommandError(NO_SEARCH_TEXT)
    found = await context.sessions.search(arguments)
    if not found:
        return Reply(f"no session contains {arguments!r}")
    lines = [f"{one.session.id} {one.entry_id}  {_shortened(one.excerpt)}" for one in found]
    return Reply("\n".join([*lines, "/resume ID opens a session, /tree ENTRY continues from one of its entries"]))


async def clone(_arguments: str, context: CommandContext) -> CommandAction:
    """Copy the session."""
    return CopySession(_kept(context), "The conversation continues in a copy of the session. The original is kept.")


async def fork(arguments: str, context: CommandContext) -> CommandAction:
    """Copy the session up to before a message."""
    path = _kept(context)
    message = await _chosen(arguments, context, "Fork before which message?", "/fork ENTRY")
    if message is None:
        return _UNCHANGED
    notice = "The conversation continues in a copy of the session, before that message. The original is kept."
    return CopySession(path, notice, before=message.entry_id, draft=message.text)


async def rewind(arguments: str, context: CommandContext) -> CommandAction:
    """Return to before a message."""
    entry, alone = _parsed("rewind", arguments, "--conversation")
    message = await _chosen(entry, context, "Rewind to before which message?", "/rewind ENTRY")
    if message is None:
        return _UNCHANGED
    return Reply(await context.navigation.travel(message.entry_id, restore="conversation" if alone else "both"))


async def tree(arguments: str, context: CommandContext) -> CommandAction:
    """Draw the session's tree, or continue from an entry."""
    entry, with_files = _parsed("tree", arguments, "--files")
    if entry:
        return Reply(await context.navigation.travel(entry, restore="both" if with_files else "conversation"))
    return Reply(_drawn(await context.navigation.outline()))


def _parsed(command: str, arguments: str, flag: str) -> tuple[str, bool]:
    """The entry, empty if none is named, and whether the flag is there.

    Raises:
        CommandError: there is something else.
    """
    words = arguments.split()
    rest = [word for word in words if word != flag]
    if len(rest) > 1 or any(word.startswith("-") for word in rest):
        raise CommandError(f"/{command} takes the id of an entry, which /tree shows, and {flag}")
    return "".join(rest), flag in words


def _kept(context: CommandContext) -> str:
    """The session's file.

    Raises:
        CommandError: there is none.
    """
    if context.session_path is None:
        raise CommandError("this session has no file, so it cannot be copied")
    return context.session_path


async def _chosen(entry_id: str, context: CommandContext, title: str, usage: str) -> PersonsMessage | None:
    """A message of the person's. None: none was chosen.

    Raises:
        CommandError: there is none, or not this one; or nobody can be asked.
    """
    points = context.navigation.points()
    if not points:
        raise CommandError(NO_MESSAGE)
    if not entry_id:
        listed = {point.entry_id: _shortened(point.text) or "(no text)" for point in reversed(points)}
        entry_id = await pick(context.asker, title, listed, usage) or ""
        if not entry_id:
            return None
    found = next((point for point in points if point.entry_id == entry_id), None)
    if found is None:
        known = "\n".join(f"{point.entry_id}  {_shortened(point.text) or '(no text)'}" for point in reversed(points))
        raise CommandError(f"{entry_id} is not a message of yours on this branch:\n{known}")
    return found


def messages_completed(typed: str, context: CommandContext) -> list[Suggestion]:
    """Complete the entry of a user's message."""
    points: Sequence[PersonsMessage] = context.navigation.points()
    return [
        Suggestion(point.entry_id, _shortened(point.text))
        for point in reversed(points)
        if point.entry_id.startswith(typed)
    ]


def _shortened(text: str) -> str:
    line = " ".join(text[: 4 * _TEXT_CHARACTERS].split())
    return line if len(line) <= _TEXT_CHARACTERS else f"{line[: _TEXT_CHARACTERS - 1]}…"


def _drawn(outline: "Outline") -> str:
    """The tree as lines: ids, what each entry is, and branches one step further right; `*` marks the way to here."""
    parents = {row.entry_id: row.parent_id for row in outline.rows}
    shown = {row.entry_id: row for row in outline.rows if outline.shows(row, "default")}

    above: dict[str, str | None] = {}  # the nearest entry above that is shown
    for row in outline.rows:
        parent = row.parent_id
        above[row.entry_id] = parent if parent in shown or parent is None else above.get(parent, parents.get(parent))
    siblings: dict[str | None, int] = {}
    for entry_id in shown:
        siblings[above[entry_id]] = siblings.get(above[entry_id], 0) + 1
    depths: dict[str | None, int] = {None: 0}
    lines = []
    for entry_id, row in shown.items():
        parent = above[entry_id]
        depth = depths[entry_id] = depths.get(parent, 0) + (siblings[parent] > 1)
        label = f"  [{row.label}]" if row.label else ""
        mark = "*" if row.is_current else " "
        lines.append(f"{mark} {entry_id}  {'  ' * depth}{row.kind.replace('_', ' ')}: {_shortened(row.text)}{label}")
    return "\n".join(lines) or "this session has no messages yet"
