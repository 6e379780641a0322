"""Asks about settings of the user that lead into a project, before kaa obeys them."""

import sys
from collections.abc import Sequence
from itertools import islice

from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.host.linked_settings import Unseen, note_seen
from kaa.host.private_file import PrivateFileError
from kaa.shell.trust.difference import unified
from kaa.tui.sanitize import sanitize

_MOST_LINES = 2_000  # somebody looks at all of them


def ask_about(files: Sequence[Unseen]) -> None:
    """Show each file and ask whether it is the user's. What gets no yes is refused where it is read."""
    for one in files:
        before, lines = one.before or "", one.now.split("\n")
        if before:
            lines = [*islice(unified(before, one.now, ("as you saw it", "now")), _MOST_LINES + 1)]
        if len(lines) > _MOST_LINES:
            told = (
                f"{one.path} differs in more than {_MOST_LINES:,} lines, too many to look at. Put a copy in its place."
            )
            deliver(sys.stderr, f"{sanitize(told)}\n")
            continue
        about = "changed" if before else "not seen yet"
        shown = "\n".join(map(sanitize, lines))
        deliver(
            sys.stderr,
            f"{sanitize(one.path)} ({about}; commands could write it in {sanitize(one.place)}):\n\n{shown}\n\n",
        )
        if confirmed("Is this what you want? kaa obeys it with a yes."):
            try:
                note_seen(one.path, one.now)
            except PrivateFileError as error:
                deliver(sys.stderr, f"kaa: cannot keep that: {sanitize(str(error))}\n")
