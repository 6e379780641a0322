"""Protected names of which every file matters."""

import os

from kaa.hands.below import NOTHING_THERE
from kaa.hands.guard.items import (
    DIRECTORY,
    KEPT_MARK,
    MAX_DEPTH,
    PROTECTED_REASON,
    GuardedItem,
    Items,
    OpenedItem,
    UnopenedItem,
    Watch,
    file_item,
    opened,
)
from kaa.hands.guard.room import Room

_LINK_REASON = "it leads to another folder than the one in which other programs execute or obey files"
_MAX_CONTENTS_BYTES = 2 * 1024 * 1024  # that are kept of one guarded directory


def protected_items(directory: int, name: str, watch: Watch, room: Room) -> Items:
    """All of a protected name: every file of it matters."""
    reason = PROTECTED_REASON
    items = room.items
    kept = _MAX_CONTENTS_BYTES

    def collect(directory: int, name: str, path: str, depth: int) -> None:
        if room.notes(path, directory, name, reason):
            return
        with opened(name, directory) as found:
            if not isinstance(found, OpenedItem):
                items.update(found.items(path, reason) if found else {})
                return
            watch(found.descriptor, None)
            if found.is_file:
                nonlocal kept
                item = file_item(found, reason)
                kept -= len(item.content or b"")
                room.add(path, item if kept >= 0 else item._replace(content=None))
                return
            room.add(path, GuardedItem(frozenset({DIRECTORY}) if not path else frozenset(), reason))
            for entry in _files_first(found.descriptor):
                inner = f"{path}/{entry}" if path else entry
                if room.has(inner, found.descriptor, entry, reason, is_near=depth < MAX_DEPTH):
                    collect(found.descriptor, entry, inner, depth + 1)

    collect(directory, name, "", 0)
    return items


def link_items(directory: int, name: str) -> Items:
    """A link where a folder was, in which something is guarded; nothing if there is no link."""
    try:
        target = os.readlink(name, dir_fd=directory)
    except OSError:
        return {}
    return UnopenedItem(target).items("", _LINK_REASON)


def _files_first(directory: int) -> list[str]:
    """The same as `names_in`: first files, since directories may be many, and last what was moved away."""
    try:
        with os.scandir(directory) as entries:
            return [
                name
                for *_, name in sorted(
                    (KEPT_MARK in entry.name, entry.is_dir(follow_symlinks=False), entry.name) for entry in entries
                )
            ]
    except OSError as error:
        if error.errno not in NOTHING_THERE:
            raise
    return []
