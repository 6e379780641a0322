"""Asks about settings of the user that lead into a project, before kaa obeys them."""

import difflib
import os
import sys
from collections.abc import Sequence

from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.host.linked_settings import Unseen, note_seen
from kaa.tui.sanitize import sanitize

_MOST_LINES = 200


def ask_about(files: Sequence[Unseen]) -> None:
    """Show each file and ask whether it is the user's. What gets no yes is refused where it is read."""
    for one in files:
        before, now = (one.before or "").splitlines(), one.now.splitlines()
        lines = [*difflib.unified_diff(before, now, "as you saw it", "now", lineterm="")] if before else now
        more = [f"… {len(lines) - _MOST_LINES} more lines: {os.path.realpath(one.path)}"][: len(lines) > _MOST_LINES]
        about = "changed" if before else "not seen yet"
        shown = "\n".join(map(sanitize, (*lines[:_MOST_LINES], *more)))
        deliver(
            sys.stderr,
            f"{sanitize(one.path)} ({about}; commands could write it in {sanitize(one.place)}):\n\n{shown}\n\n",
        )
        if confirmed("Is this what you want? kaa obeys it with a yes."):
            try:
                note_seen(one.path, one.now)
            except OSError as error:
                deliver(sys.stderr, f"kaa: cannot keep that: {error}\n")
