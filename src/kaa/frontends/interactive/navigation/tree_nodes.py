"""A session's outline as the nodes of a tree: what each row says, in which colour, and what the filters show."""

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from kaa.frontends.interactive.sessions.ago import shown_moment
from kaa.session.outline import Outline, OutlineRow, RowFilter, RowKind
from kaa.tui.components.tree import TreeFilter, TreeNode
from kaa.tui.context import Context
from kaa.tui.sanitize import squeezed
from kaa.tui.style import Span

# What stands before the text of a row, and the colour of both.
_KINDS: dict[RowKind, tuple[str, str]] = {
    "user": ("you: ", "accent"),
    "assistant": ("", "text"),
    "tool": ("", "muted"),
    "command": ("! ", "bashMode"),
    "note": ("note: ", "customMessageText"),
    "compaction": ("compacted: ", "customMessageLabel"),
    "branch_summary": ("branch: ", "customMessageLabel"),
    "model": ("model ", "dim"),
    "thinking": ("thinking ", "dim"),
    "label": ("label ", "dim"),
    "name": ("name ", "dim"),
    "leaf": ("moved", "dim"),
    "edit": ("for the model: ", "dim"),
    "usage": ("usage ", "dim"),
    "system": ("instructions of another program", "dim"),
    "custom": ("", "dim"),
    "unreadable": ("unreadable", "warning"),
}

# What is said of each filter; its key's id ends with the name that an action has for it.
_FILTERS: dict[RowFilter, tuple[str, str]] = {
    "default": ("", "default"),
    "no-tools": ("without tools", "noTools"),
    "user-only": ("your messages only", "userOnly"),
    "labeled-only": ("labelled ones only", "labeledOnly"),
    "all": ("everything", "all"),
}


def here(outline: Outline) -> str | None:
    """The entry that somebody who reads the tree takes for the end of the conversation; None before the first.

    The leaf may be one that is seldom shown, such as a label's.
    """
    current = (row.entry_id for row in reversed(outline.rows) if row.is_current and outline.shows(row, "default"))
    return next(current, outline.leaf_id)


def tree_of(outline: Outline, context: Context, *, shows_times: bool = False) -> list[TreeNode]:
    roots: list[TreeNode] = []
    children: dict[str, list[TreeNode]] = {}
    here_id = here(outline)
    for row in outline.rows:
        below = children[row.entry_id] = []
        node = TreeNode(row.entry_id, tuple(_spans(row, row.entry_id == here_id, context, shows_times)), below)
        (roots if row.parent_id is None else children.get(row.parent_id, roots)).append(node)
    return roots


def filters_of(shows: Callable[[str, RowFilter], bool], first: RowFilter = "default") -> Sequence[TreeFilter]:
    """The filters, this one first, the others in their order behind it.

    Args:
        shows: whether a filter shows the entry with this id.
    """
    names: tuple[RowFilter, ...] = get_args(RowFilter)
    at = names.index(first)
    return [_filter(name, shows) for name in (*names[at:], *names[:at])]


def _filter(name: RowFilter, shows: Callable[[str, RowFilter], bool]) -> TreeFilter:
    label, action = _FILTERS[name]
    return TreeFilter(label, lambda node: shows(node.id, name), f"app.tree.filter.{action}")


def _spans(row: OutlineRow, is_here: bool, context: Context, shows_times: bool) -> Iterator[Span]:
    palette, glyphs = context.palette, context.glyphs
    before, token = _KINDS[row.kind]
    style = palette[token]
    if row.is_current:
        yield f"{glyphs.bullet} ", palette["accent"]
    if row.label is not None:
        when = f" {shown_moment(row.labelled)}" if shows_times and row.labelled else ""
        yield f"[{squeezed(row.label)}{when}] ", palette["warning"]
    if is_here:  # before the text, which may be too long for the screen
        yield "(you are here) ", palette["success"]
    yield before, style if before.strip() else palette["dim"]
    yield squeezed(row.text) or ("" if before else "(no text)"), style
    if row.failed:
        yield f" {glyphs.cross}", palette["error"]
